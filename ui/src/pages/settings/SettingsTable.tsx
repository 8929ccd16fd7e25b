import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { DataTable, type Column } from "../../components/DataTable";
import { StatusChip } from "../../components/StatusChip";
import { valueText } from "../../components/valueText";
import type { Setting } from "./api";
import { isChanged } from "./matching";

/** The variables are beside the name; which of them it was does not matter. */
const sourceWord = ({ source }: Setting): string => source.replace(/^environment .*/, "environment");

const COLUMNS: Column<Setting>[] = [
  {
    name: "name",
    header: "Setting",
    by: ({ name }) => name,
    cell: ({ name, environment }) => (
      <Box sx={{ minWidth: { xs: 150, md: 280 }, overflowWrap: "anywhere" }}>
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
      <Box className="mono" sx={{ minWidth: 96, overflowWrap: "anywhere" }}>
        {valueText(value === "" ? null : value)} {unit}
      </Box>
    ),
  },
  {
    name: "source",
    header: "From",
    by: ({ source }) => source,
    wideOnly: true,
    cell: (setting) => (
      <StatusChip tone={isChanged(setting) ? "busy" : "quiet"} label={sourceWord(setting)} />
    ),
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
