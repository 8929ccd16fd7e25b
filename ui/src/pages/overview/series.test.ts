import { expect, it } from "vitest";
import { aMetrics } from "../../test/fixtures/overview";
import { chartRows } from "./series";

it("a chart shows five minutes and no more", () => {
  const at = (seconds: number) => ({ ...aMetrics, at_ms: seconds * 1_000 });
  const rows = chartRows([at(0), at(1), at(200), at(301)]);
  expect(rows.map((row) => row.at_ms)).toEqual([200_000, 301_000]);
  expect(rows[0]).toMatchObject({ rate: 123.4, errors: 0.5, p50: 1.8, p95: 4.2, p99: 9.9 });
});

it("a chart of nothing is empty", () => {
  expect(chartRows([])).toEqual([]);
});
