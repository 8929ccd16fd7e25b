import { useState } from "react";
import { DataTable, type Column } from "../../components/DataTable";
import { Time } from "../../components/Time";
import type { LogRecord } from "./api";
import { RecordRows } from "./RecordRows";

const keyOf = ({ tracking_id, at_ms, kind }: LogRecord): string => `${at_ms} ${tracking_id} ${kind}`;

/** One line per logged request; a picked one shows its rows. */
export function RecordTable({ records }: { records: LogRecord[] }) {
  const [picked, setPicked] = useState<string | null>(null);
  return (
    <DataTable
      label="Logged requests"
      columns={COLUMNS}
      rows={records}
      rowKey={keyOf}
      isPicked={(record) => keyOf(record) === picked}
      onPick={(record) => setPicked((before) => (before === keyOf(record) ? null : keyOf(record)))}
      below={(record) => keyOf(record) === picked && <RecordRows record={record} />}
    />
  );
}

const COLUMNS: Column<LogRecord>[] = [
  { name: "at", header: "When", cell: ({ at_ms }) => <Time at_ms={at_ms} /> },
  { name: "config", header: "Config", cell: ({ model_config_id }) => model_config_id },
  {
    name: "tracking",
    header: "Tracking id",
    cell: ({ tracking_id }) => <span className="mono">{tracking_id}</span>,
  },
  { name: "user", header: "User", wideOnly: true, cell: ({ user }) => user || "–" },
  { name: "kind", header: "Of", wideOnly: true, cell: ({ kind }) => kind },
  {
    name: "version",
    header: "Version",
    wideOnly: true,
    cell: ({ config_version }) => <span className="mono">{config_version.slice(0, 12)}</span>,
  },
  { name: "rows", header: "Rows", numeric: true, cell: ({ rows }) => rows.length },
];
