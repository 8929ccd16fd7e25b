import Box from "@mui/material/Box";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import {
  CartesianGrid,
  Line as DrawnLine,
  LineChart,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { number } from "../../components/format";
import { WINDOW_MS, type ChartRow } from "./series";

export type Line = {
  name: Exclude<keyof ChartRow, "at_ms">;
  label: string;
  colour: "primary" | "warning" | "error";
};

type Props = { title: string; rows: ChartRow[]; lines: Line[]; height: number };

const ink = (colour: string): string => `var(--mui-palette-${colour})`;
const TICK = { fill: ink("text-secondary"), fontSize: 11 };

/** Lines over the last five minutes. What they say last is in words too, for whoever cannot see them. */
export default function Chart({ title, rows, lines, height }: Props) {
  const newest = rows.at(-1);
  const said = lines.map(({ name, label }) => `${label} ${number(newest?.[name], 3)}`).join(", ");
  return (
    <Paper
      variant="outlined"
      component="figure"
      sx={{ m: 0, p: 2 }}
      role="img"
      aria-label={`${title}: ${said}`}
    >
      <Stack direction="row" spacing={2} useFlexGap sx={{ mb: 1, flexWrap: "wrap", alignItems: "center" }}>
        <Typography variant="h3" component="div" sx={{ flexGrow: 1 }}>
          {title}
        </Typography>
        {lines.map(({ label, colour }) => (
          <Legend key={label} label={label} colour={colour} />
        ))}
      </Stack>
      <ResponsiveContainer width="100%" height={height}>
        <LineChart data={rows} accessibilityLayer={false} margin={{ top: 4, right: 8, bottom: 0, left: -16 }}>
          <CartesianGrid stroke={ink("divider")} vertical={false} />
          <XAxis
            dataKey="at_ms"
            type="number"
            domain={[(newest?.at_ms ?? 0) - WINDOW_MS, newest?.at_ms ?? 0]}
            tickFormatter={minutes}
            tick={TICK}
            stroke={ink("divider")}
            tickCount={6}
            minTickGap={40}
          />
          <YAxis
            tick={TICK}
            stroke={ink("divider")}
            width={56}
            tickFormatter={(value: number) => number(value, 3)}
          />
          <Tooltip
            labelFormatter={(at) => seconds(Number(at))}
            formatter={(value) => number(value as number, 4)}
            contentStyle={{
              background: ink("background-paper"),
              border: `1px solid ${ink("divider")}`,
              borderRadius: 8,
            }}
          />
          {lines.map(({ name, label, colour }) => (
            <DrawnLine
              key={name}
              dataKey={name}
              name={label}
              stroke={ink(`${colour}-main`)}
              strokeWidth={1.75}
              dot={loneDot(rows, name, ink(`${colour}-main`))}
              isAnimationActive={false}
            />
          ))}
        </LineChart>
      </ResponsiveContainer>
    </Paper>
  );
}

/** A value between two gaps has no line through it, and would not be seen. */
const loneDot =
  (rows: ChartRow[], name: Line["name"], colour: string) =>
  ({ cx, cy, index }: { cx?: number; cy?: number; index?: number }) => {
    const at = (row: number): number | null => rows[row]?.[name] ?? null;
    const isLone =
      index !== undefined && at(index) !== null && at(index - 1) === null && at(index + 1) === null;
    return isLone ? <circle key={index} cx={cx} cy={cy} r={2} fill={colour} /> : <g key={index} />;
  };

function Legend({ label, colour }: { label: string; colour: string }) {
  return (
    <Typography variant="caption" sx={{ display: "inline-flex", alignItems: "center", gap: 0.75 }}>
      <Box component="span" sx={{ width: 12, height: 3, borderRadius: 1, bgcolor: `${colour}.main` }} />
      {label}
    </Typography>
  );
}

const minutes = (at_ms: number): string => seconds(at_ms).slice(0, 5);
const seconds = (at_ms: number): string => new Date(at_ms).toLocaleTimeString("sv-SE");
