import Box from "@mui/material/Box";
import { DataTable, type Column } from "../../components/DataTable";
import { Time } from "../../components/Time";
import type { AuditEntry } from "./api";
import { detailText } from "./detailText";

/** Who changed what in the fleet, newest first. */
export function AuditTable({ entries }: { entries: AuditEntry[] }) {
  return (
    <DataTable
      label="Changes"
      columns={COLUMNS}
      rows={entries}
      rowKey={({ at_ms, action, subject }) => `${at_ms} ${action} ${subject}`}
    />
  );
}

const COLUMNS: Column<AuditEntry>[] = [
  { name: "at", header: "When", by: ({ at_ms }) => -at_ms, cell: ({ at_ms }) => <Time at_ms={at_ms} /> },
  { name: "by", header: "By", wideOnly: true, by: ({ by }) => by, cell: ({ by }) => by },
  {
    name: "action",
    header: "What",
    by: ({ action }) => action,
    cell: ({ action }) => <Box sx={{ whiteSpace: "nowrap" }}>{action}</Box>,
  },
  {
    name: "subject",
    header: "Of",
    by: ({ subject }) => subject,
    cell: ({ subject }) => <span className="mono">{subject}</span>,
  },
  { name: "detail", header: "Details", wideOnly: true, cell: ({ detail_json }) => detailText(detail_json) },
];
