import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import type { ItemColumn, ItemRow } from "../../api/runs";
import { DataTable, type Column } from "../DataTable";
import { duration } from "../format";
import { StatusChip, type Tone } from "../StatusChip";
import { valueText } from "../valueText";

const TONES: Record<string, Tone> = {
  real: "good",
  given: "quiet",
  computed: "quiet",
  default: "warn",
  missing: "warn",
  expired: "warn",
  partial: "warn",
  pinned: "busy",
  failed: "bad",
};

type Props = {
  row: ItemRow;
  /** What can be done with a column's value. */
  action?: (column: ItemColumn) => ReactNode;
};

/** Why one target got its scores: every column, its value, and whether it was real. */
export function ItemTable({ row, action }: Props) {
  return (
    <DataTable
      label="Every column of it"
      columns={columnsOf(action)}
      rows={row.columns}
      rowKey={({ column }) => column}
    />
  );
}

const columnsOf = (action: Props["action"]): Column<ItemColumn>[] => [
  { name: "column", header: "Column", cell: (column) => <Named column={column} /> },
  {
    name: "value",
    header: "Value",
    cell: (column) => (
      <Box sx={{ display: "flex", alignItems: "center", gap: 0.5 }}>
        <Shortened text={valueText(column.value)} />
        {action?.(column)}
      </Box>
    ),
  },
  {
    name: "state",
    header: "State",
    cell: ({ state }) => <StatusChip tone={TONES[state] ?? "quiet"} label={state} />,
  },
  { name: "age", header: "Age", numeric: true, wideOnly: true, cell: ({ age_s }) => duration(age_s) },
];

function Shortened({ text }: { text: string }) {
  const sx = {
    maxWidth: { xs: 72, sm: 150 },
    overflow: "hidden",
    textOverflow: "ellipsis",
    whiteSpace: "nowrap",
  };
  return (
    <Box component="code" className="mono" title={text} sx={sx}>
      {text}
    </Box>
  );
}

function Named({ column }: { column: ItemColumn }) {
  return (
    <Box sx={{ overflowWrap: "anywhere", minWidth: 120 }}>
      <code className="mono">{column.column}</code>
      <Typography variant="caption" color="textSecondary" component="div">
        {column.step} · {column.source}
      </Typography>
    </Box>
  );
}
