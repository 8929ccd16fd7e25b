import Box from "@mui/material/Box";
import MenuItem from "@mui/material/MenuItem";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useState } from "react";
import type { Answer, Value } from "../../../api/runs";
import { DataTable, type Column } from "../../../components/DataTable";
import { number } from "../../../components/format";
import { valueText } from "../../../components/valueText";
import { numericColumns, rankedBy, targetColumns, type Ranked } from "./ranking";

type Props = { answer: Answer; baseline: Answer | null; item: string | null; onPick: (item: string) => void };

/** Targets, best first. With a baseline: how far each rose or fell. A row opens why. */
export function Ranking({ answer, baseline, item, onPick }: Props) {
  const numeric = numericColumns(answer);
  const [chosen, setChosen] = useState<string | null>(null);
  const by = chosen !== null && numeric.includes(chosen) ? chosen : numeric.at(-1);
  const moved = baseline !== null;
  return (
    <>
      <Box sx={{ display: "flex", flexWrap: "wrap", alignItems: "center", gap: 2, mb: 1.5 }}>
        <Typography variant="h2">{by === undefined ? "Targets" : "Ranking"}</Typography>
        <Typography variant="body2" color="textSecondary" sx={{ flexGrow: 1 }}>
          Pick a row to see why.
        </Typography>
        {numeric.length > 1 && (
          <TextField
            select
            label="Rank by"
            value={by}
            onChange={(event) => setChosen(event.target.value)}
            sx={{ minWidth: 180 }}
          >
            {numeric.map((column) => (
              <MenuItem key={column} value={column}>
                {column}
              </MenuItem>
            ))}
          </TextField>
        )}
      </Box>
      <DataTable
        label="Ranking"
        columns={columnsOf(answer, new Set(numeric), by, moved)}
        rows={rankedBy(by, answer, baseline)}
        rowKey={({ id }) => id}
        isPicked={({ id }) => id === item}
        onPick={({ id }) => onPick(id)}
      />
    </>
  );
}

function columnsOf(
  answer: Answer,
  numeric: Set<string>,
  by: string | undefined,
  moved: boolean,
): Column<Ranked>[] {
  const scores = scoreColumns(answer, by).map((name): Column<Ranked> => ({
    name,
    header: <span title={name}>{shortName(name)}</span>,
    numeric: numeric.has(name),
    wideOnly: name !== by,
    cell: (row) => <Score value={row.scores[name]} delta={row.deltas[name]} isMain={name === by} />,
  }));
  const columns: Column<Ranked>[] = [
    ...(by === undefined ? [] : [RANK]),
    { name: "id", header: "Id", cell: ({ id }) => <code className="mono">{id}</code> },
    ...scores,
  ];
  if (moved)
    columns.splice(1, 0, {
      name: "moved",
      header: "Moved",
      numeric: true,
      cell: ({ gained }) => <Moved gained={gained} />,
    });
  if (answer.targets?.some(({ error }) => error)) {
    columns.push({ name: "error", header: "Error", cell: ({ error }) => error ?? "" });
  }
  return columns;
}

const RANK: Column<Ranked> = {
  name: "rank",
  header: "Rank",
  numeric: true,
  narrow: true,
  cell: ({ rank }) => rank ?? "–",
};

/** First the one they are ranked by. */
const scoreColumns = (answer: Answer, by: string | undefined): string[] =>
  targetColumns(answer).toSorted((a, b) => Number(b === by) - Number(a === by));

/** `product:attributes:title` is known as title; the full name is on hover. */
const shortName = (column: string): string => column.split(":").at(-1) ?? column;

function Moved({ gained }: { gained: number | null }) {
  if (!gained)
    return (
      <Box component="span" sx={{ color: "text.secondary" }}>
        {gained === 0 ? "=" : "–"}
      </Box>
    );
  const isUp = gained > 0;
  return (
    <Box
      component="span"
      sx={{ color: isUp ? "success.main" : "error.main", fontWeight: 600, whiteSpace: "nowrap" }}
    >
      <span aria-hidden>{isUp ? "▲" : "▼"}</span> {Math.abs(gained)}
      <Box component="span" sx={HIDDEN}>
        {isUp ? " up" : " down"}
      </Box>
    </Box>
  );
}

const HIDDEN = {
  position: "absolute",
  width: "1px",
  height: "1px",
  overflow: "hidden",
  clipPath: "inset(50%)",
} as const;

function Score({ value, delta, isMain }: { value: Value; delta: number | undefined; isMain: boolean }) {
  return (
    <Box component="span" sx={{ fontWeight: isMain ? 650 : 400 }}>
      {valueText(value)}
      {delta !== undefined && (
        <Typography
          component="span"
          variant="caption"
          sx={{ display: "block", color: delta > 0 ? "success.main" : "error.main" }}
        >
          {delta > 0 ? "+" : "−"}
          {number(Math.abs(delta), 3)}
        </Typography>
      )}
    </Box>
  );
}
