import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import type { MatrixColumn } from "../../../api/runs";
import { reach, type Moment } from "./moments";

const CELL = {
  px: 1,
  py: 0.25,
  borderBottom: 1,
  borderColor: "divider",
  whiteSpace: "nowrap",
  fontSize: 12,
} as const;
const STICKY = { position: "sticky", left: 0, bgcolor: "background.paper", zIndex: 1 } as const;

type Props = { moments: Moment[]; ids: string[]; isComplete: boolean };

/** Rows are targets, columns come step by step; the darker a cell, the higher in its column. */
export function MatrixTable({ moments, ids, isComplete }: Props) {
  const columns = moments.flatMap((moment) => moment.columns);
  const newest = isComplete ? undefined : moments.at(-1)?.step;
  return (
    <Box
      tabIndex={0}
      role="region"
      aria-label="Matrix of values"
      sx={{ overflowX: "auto", minHeight: 56 + ids.length * 23 }}
    >
      <Box component="table" aria-label="Matrix" sx={{ borderCollapse: "collapse" }}>
        <thead>
          <tr>
            <Box component="td" sx={{ ...CELL, ...STICKY }} />
            {moments.map(({ step, columns: written }) => (
              <Box
                component="th"
                key={step}
                scope="colgroup"
                colSpan={written.length}
                sx={{
                  ...CELL,
                  textAlign: "left",
                  borderLeft: 2,
                  color: step === newest ? "primary.main" : "text.primary",
                }}
              >
                {step}
              </Box>
            ))}
          </tr>
          <tr>
            <Box component="th" scope="col" sx={{ ...CELL, ...STICKY, textAlign: "left" }}>
              id
            </Box>
            {columns.map((column) => (
              <ColumnHead key={column.column} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {ids.map((id, row) => (
            <tr key={`${id} ${row}`}>
              <Box component="th" scope="row" sx={{ ...CELL, ...STICKY, textAlign: "left" }}>
                {id}
              </Box>
              {columns.map((column) => (
                <Cell key={column.column} column={column} text={column.sample[row] ?? ""} />
              ))}
            </tr>
          ))}
        </tbody>
      </Box>
    </Box>
  );
}

function ColumnHead({ column }: { column: MatrixColumn }) {
  return (
    <Box
      component="th"
      scope="col"
      title={`${column.column}, ${column.dtype}`}
      sx={{ ...CELL, textAlign: "left", fontWeight: 500, color: "text.secondary" }}
    >
      {column.column.split(":").at(-1)}
      {column.defaults > 0 && (
        <Typography
          component="span"
          variant="caption"
          sx={{ color: "warning.main", ml: 0.5, fontWeight: 650 }}
        >
          {column.defaults} default{column.defaults === 1 ? "" : "s"}
        </Typography>
      )}
    </Box>
  );
}

function Cell({ column, text }: { column: MatrixColumn; text: string }) {
  const share = reach(text, column);
  const tint =
    share === null
      ? undefined
      : `color-mix(in srgb, var(--mui-palette-primary-main) ${Math.round(6 + share * 34)}%, transparent)`;
  return (
    <Box
      component="td"
      title={text}
      sx={{ ...CELL, bgcolor: tint, maxWidth: 160, overflow: "hidden", textOverflow: "ellipsis" }}
    >
      {text || "–"}
    </Box>
  );
}
