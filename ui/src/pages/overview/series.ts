/** The last five minutes of the live socket as columns a chart can draw. */

export interface OverviewPoint {
  at_ms: number;
  overview: {
    rate: number;
    errors_per_s: number;
    p50_ms: number | null;
    p95_ms: number | null;
    p99_ms: number | null;
    in_flight: number;
  };
}

export interface ChartRow {
  at_ms: number;
  rate: number;
  errors: number;
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

export const WINDOW_MS = 300_000;

/** Rows within the window before the newest, oldest first. */
export function chartRows(points: readonly OverviewPoint[]): ChartRow[] {
  const newest = points.at(-1)?.at_ms ?? 0;
  return points.filter((each) => each.at_ms > newest - WINDOW_MS).map(chartRow);
}

const chartRow = ({ at_ms, overview }: OverviewPoint): ChartRow => ({
  at_ms,
  rate: overview.rate,
  errors: overview.errors_per_s,
  p50: overview.p50_ms,
  p95: overview.p95_ms,
  p99: overview.p99_ms,
});

/** Nothing was asked in all that time. */
export const isQuiet = (rows: readonly ChartRow[]): boolean => rows.every(({ rate }) => rate === 0);
