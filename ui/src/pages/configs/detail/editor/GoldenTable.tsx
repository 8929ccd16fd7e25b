import type { GoldenResult } from "../../../../api/problem";
import { DataTable, type Column } from "../../../../components/DataTable";
import { number } from "../../../../components/format";
import { StatusChip } from "../../../../components/StatusChip";

const COLUMNS: Column<GoldenResult>[] = [
  { name: "request", header: "Request", cell: ({ request }) => <code className="mono">{request}</code> },
  {
    name: "passed",
    header: "Result",
    cell: ({ passed }) => <StatusChip tone={passed ? "good" : "bad"} label={passed ? "passed" : "failed"} />,
  },
  {
    name: "difference",
    header: "Largest difference",
    numeric: true,
    cell: ({ difference }) => number(difference, 3),
  },
  { name: "detail", header: "", cell: ({ detail }) => detail },
];

/** Requests with known answers, and whether they still get them. */
export function GoldenTable({ golden }: { golden: GoldenResult[] }) {
  return (
    <DataTable label="Golden requests" columns={COLUMNS} rows={golden} rowKey={({ request }) => request} />
  );
}
