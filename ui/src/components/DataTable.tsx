import Box from "@mui/material/Box";
import Paper from "@mui/material/Paper";
import Table from "@mui/material/Table";
import TableBody from "@mui/material/TableBody";
import TableCell from "@mui/material/TableCell";
import TableContainer from "@mui/material/TableContainer";
import TableHead from "@mui/material/TableHead";
import TableRow from "@mui/material/TableRow";
import TableSortLabel from "@mui/material/TableSortLabel";
import { useState, type KeyboardEvent, type ReactNode } from "react";

export type Column<Row> = {
  name: string;
  header: ReactNode;
  cell: (row: Row) => ReactNode;
  /** Given, the column can be sorted by it. */
  by?: (row: Row) => string | number;
  numeric?: boolean;
  /** No wider than what is in it. */
  narrow?: boolean;
  /** Left out on narrow screens. */
  wideOnly?: boolean;
};

type Props<Row> = {
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  isPicked?: (row: Row) => boolean;
  onPick?: (row: Row) => void;
  /** A second line below a row, such as its details; null for none. */
  below?: (row: Row) => ReactNode;
};

type Order = { name: string; descending: boolean };

/** Rows of like things. Sorts when a column says by what; a picked row is one with the keyboard, too. */
export function DataTable<Row>({ label, columns, rows, rowKey, isPicked, onPick, below }: Props<Row>) {
  const [order, setOrder] = useState<Order | null>(null);
  const sorted = inOrder(rows, columns, order);
  return (
    <TableContainer component={Paper} variant="outlined">
      <Table aria-label={label}>
        <TableHead>
          <TableRow>
            {columns.map((column) => (
              <TableCell key={column.name} align={column.numeric ? "right" : "left"} sx={shownAt(column)}>
                {column.by ? (
                  <TableSortLabel
                    active={order?.name === column.name}
                    direction={order?.descending ? "desc" : "asc"}
                    onClick={() => setOrder(turned(order, column.name))}
                  >
                    {column.header}
                  </TableSortLabel>
                ) : (
                  column.header
                )}
              </TableCell>
            ))}
          </TableRow>
        </TableHead>
        <TableBody>
          {sorted.map((row) => (
            <Rows
              key={rowKey(row)}
              {...{ row, columns, below }}
              picked={isPicked?.(row) ?? false}
              onPick={onPick}
            />
          ))}
        </TableBody>
      </Table>
    </TableContainer>
  );
}

type RowsProps<Row> = Pick<Props<Row>, "columns" | "onPick" | "below"> & { row: Row; picked: boolean };

function Rows<Row>({ row, columns, onPick, below, picked }: RowsProps<Row>) {
  const pick = onPick && (() => onPick(row));
  const under = below?.(row);
  return (
    <>
      <TableRow
        hover={Boolean(pick)}
        selected={picked}
        onClick={pick}
        tabIndex={pick ? 0 : undefined}
        onKeyDown={pick && ((event: KeyboardEvent) => press(event, pick))}
        sx={{ cursor: pick ? "pointer" : undefined }}
      >
        {columns.map((column) => (
          <TableCell key={column.name} align={column.numeric ? "right" : "left"} sx={shownAt(column)}>
            {column.cell(row)}
          </TableCell>
        ))}
      </TableRow>
      {under && (
        <TableRow>
          <TableCell colSpan={columns.length}>
            {/* However wide it is inside: it scrolls there, and does not widen the table. */}
            <Box sx={{ py: 1, contain: "inline-size" }}>{under}</Box>
          </TableCell>
        </TableRow>
      )}
    </>
  );
}

/** Only on the row itself: links and buttons inside keep their keys. */
function press(event: KeyboardEvent, pick: () => void): void {
  if (event.target !== event.currentTarget || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  pick();
}

const shownAt = ({
  wideOnly,
  numeric,
  narrow,
}: {
  wideOnly?: boolean;
  numeric?: boolean;
  narrow?: boolean;
}) => ({
  width: narrow ? "1%" : undefined,
  display: wideOnly ? { xs: "none", md: "table-cell" } : undefined,
  whiteSpace: numeric ? "nowrap" : undefined,
});

const turned = (order: Order | null, name: string): Order => ({
  name,
  descending: order?.name === name ? !order.descending : false,
});

function inOrder<Row>(rows: readonly Row[], columns: Column<Row>[], order: Order | null): readonly Row[] {
  const by = columns.find((column) => column.name === order?.name)?.by;
  if (!by) return rows;
  const way = order?.descending ? -1 : 1;
  return rows.toSorted((a, b) => (by(a) < by(b) ? -way : by(a) > by(b) ? way : 0));
}
