import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { DataTable, type Column } from "../../components/DataTable";
import { duration } from "../../components/format";
import { StatusChip } from "../../components/StatusChip";
import type { Feature, FeatureGroup } from "./api";
import { valueText } from "../../components/valueText";

/** The features of a group, their types and defaults, and how long values live. */
export function GroupTable({ group }: { group: FeatureGroup }) {
  const lives = group.ttl_s === null ? "kept for ever" : `kept for ${duration(group.ttl_s)}`;
  return (
    <Stack spacing={1}>
      <Stack direction="row" spacing={1} sx={{ alignItems: "center" }}>
        <Typography variant="h3">{group.name}</Typography>
        <StatusChip tone="quiet" label={lives} />
      </Stack>
      <DataTable
        label={`Features of ${group.name}`}
        columns={COLUMNS}
        rows={group.features}
        rowKey={({ name }) => name}
      />
    </Stack>
  );
}

const typeOf = ({ dtype, dim }: Feature): string => (dim ? `${dtype}[${dim}]` : dtype);

const COLUMNS: Column<Feature>[] = [
  {
    name: "name",
    header: "Feature",
    by: ({ name }) => name,
    cell: ({ name }) => <span className="mono">{name}</span>,
  },
  {
    name: "dtype",
    header: "Type",
    by: typeOf,
    cell: (feature) => <span className="mono">{typeOf(feature)}</span>,
  },
  {
    name: "default",
    header: "Default",
    numeric: true,
    cell: (feature) => <span className="mono">{valueText(feature.default)}</span>,
  },
];
