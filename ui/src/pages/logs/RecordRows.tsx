import { DataTable, type Column } from "../../components/DataTable";
import { valueText } from "../../components/valueText";
import type { LogRecord } from "./api";

type Row = LogRecord["rows"][number];

/** Every logged column of every row, as wide as it is: the table scrolls. */
export function RecordRows({ record }: { record: LogRecord }) {
  const names = [...new Set(record.rows.flatMap((row) => Object.keys(row)))];
  const columns = names.map(columnOf);
  return (
    <DataTable
      label={`Rows of ${record.tracking_id}`}
      columns={columns}
      rows={record.rows}
      rowKey={({ id }) => String(id)}
    />
  );
}

const columnOf = (name: string): Column<Row> => ({
  name,
  header: name,
  numeric: name !== "id",
  cell: (row) => <span className="mono">{valueText(row[name], 6)}</span>,
});
