import type { MatrixColumn } from "../../../api/runs";

/** When a step ended, and the columns that were there from then on. */
export type Moment = { step: string; at_us: number; columns: MatrixColumn[] };

export function moments(columns: readonly MatrixColumn[]): Moment[] {
  const found: Moment[] = [];
  for (const column of columns.toSorted((a, b) => a.at_us - b.at_us)) {
    const last = found.at(-1);
    if (last?.step === column.step) last.columns.push(column);
    else found.push({ step: column.step, at_us: column.at_us, columns: [column] });
  }
  return found;
}

/** How far a value reaches between the smallest and the largest of its column, from 0 to 1;
 * null for what is no number, and where all are the same. */
export function reach(text: string, { min, max }: Pick<MatrixColumn, "min" | "max">): number | null {
  const value = Number(text);
  if (min === null || max === null || min === max || text === "" || !Number.isFinite(value)) return null;
  return Math.min(Math.max((value - min) / (max - min), 0), 1);
}
