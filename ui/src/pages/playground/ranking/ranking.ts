/** Ranks by any column, and what changed against a baseline. */
import type { Answer, Target, Value } from "../../../api/runs";

export type Ranked = {
  id: string;
  rank: number | null;
  /** Places gained against the baseline; null without one. */
  gained: number | null;
  scores: Record<string, Value>;
  /** Change of each number against the baseline. */
  deltas: Record<string, number>;
  error: string | null;
};

/** What targets have a value of. Of pairs and slates the answer's own columns are others. */
export function targetColumns({ targets }: Answer): string[] {
  return [...new Set(targets?.flatMap(({ scores }) => Object.keys(scores)))];
}

export function numericColumns(answer: Answer): string[] {
  return targetColumns(answer).filter((column) =>
    answer.targets?.some(({ scores }) => typeof scores[column] === "number"),
  );
}

/** Best first; those without a number are last, in the order of the request. */
export function rankedBy(column: string | undefined, answer: Answer, baseline: Answer | null): Ranked[] {
  const ranks = ranksOf(column, answer.targets ?? []);
  const before = ranksOf(column, baseline?.targets ?? []);
  return (answer.targets ?? [])
    .map((target, row): Ranked => {
      const old = baseline?.targets?.[row];
      const rank = ranks[row] ?? null;
      const was = before[row] ?? null;
      return {
        id: target.id,
        rank,
        gained: old && rank !== null && was !== null ? was - rank : null,
        scores: target.scores,
        deltas: old ? changes(target, old) : {},
        error: target.error,
      };
    })
    .sort((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity));
}

function ranksOf(column: string | undefined, targets: Target[]): (number | null)[] {
  const value = ({ scores }: Target): number | null => {
    const score = column === undefined ? null : scores[column];
    return typeof score === "number" ? score : null;
  };
  const order = targets
    .map((target, row) => ({ row, score: value(target) }))
    .filter((one): one is { row: number; score: number } => one.score !== null)
    .sort((a, b) => b.score - a.score);
  const ranks: (number | null)[] = targets.map(() => null);
  order.forEach(({ row }, place) => (ranks[row] = place + 1));
  return ranks;
}

function changes(now: Target, before: Target): Record<string, number> {
  const deltas: Record<string, number> = {};
  for (const [column, value] of Object.entries(now.scores)) {
    const old = before.scores[column];
    if (typeof value === "number" && typeof old === "number" && value !== old) deltas[column] = value - old;
  }
  return deltas;
}
