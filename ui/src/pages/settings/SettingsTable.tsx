import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { DataTable, type Column } from "../../components/DataTable";
import { StatusChip } from "../../components/StatusChip";
import { valueText } from "../../components/valueText";
import type { Setting } from "./api";
import { isChanged } from "./matching";

const COLUMNS: Column<Setting>[] = [
  {
    name: "name",
    header: "Setting",
    by: ({ name }) => name,
    cell: ({ name, environment }) => (
      <Box sx={{ overflowWrap: "anywhere" }}>
        <span className="mono">{name}</span>
        {environment.map((variable) => (
          <Typography key={variable} variant="caption" component="div" color="textSecondary" className="mono">
            {variable}
          </Typography>
        ))}
      </Box>
    ),
  },
  {
    name: "value",
    header: "Value",
    cell: ({ value, unit }) => (
      <Box component="span" className="mono" sx={{ overflowWrap: "anywhere" }}>
        {valueText(value === "" ? null : value)} {unit}
      </Box>
    ),
  },
  {
    name: "source",
    header: "From",
    by: ({ source }) => source,
    cell: (setting) => <StatusChip tone={isChanged(setting) ? "busy" : "quiet"} label={setting.source} />,
  },
  {
    name: "meaning",
    header: "Meaning",
    wideOnly: true,
    cell: ({ meaning, unused }) => (
      <>
        {meaning}
        {unused && (
          <Typography variant="caption" component="div" color="textSecondary">
            Not in use: {unused}
          </Typography>
        )}
      </>
    ),
  },
];

export function SettingsTable({ settings }: { settings: Setting[] }) {
  return <DataTable label="Settings" columns={COLUMNS} rows={settings} rowKey={({ name }) => name} />;
}
