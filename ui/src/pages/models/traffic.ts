/** Who gets how much of a model's traffic, and whether a split that is being typed may be set. */

export interface Split {
  versions: { version: string; stage: string }[];
  traffic: Record<string, number>;
}

/** Percent of the traffic a version gets. Without a split all of it goes to production. */
export function shareOf(model: Split, version: string): number {
  if (Object.keys(model.traffic).length > 0) return model.traffic[version] ?? 0;
  const stage = model.versions.find((each) => each.version === version)?.stage;
  return stage === "production" ? 100 : 0;
}

/** What is wrong with the shares as they are typed, or null. */
export function trafficProblem(shares: Record<string, string>): string | null {
  const numbers = Object.values(shares).map(percent);
  if (numbers.some((each) => Number.isNaN(each) || each < 0 || each > 100))
    return "A share is a number from 0 to 100.";
  const total = numbers.reduce((sum, each) => sum + each, 0);
  return Math.abs(total - 100) < 1e-6 ? null : `The shares add up to ${round(total)} %, not 100 %.`;
}

/** The shares to send: versions that get nothing are left out. */
export function sharesToSet(shares: Record<string, string>): Record<string, number> {
  const entries = Object.entries(shares).map(([version, text]) => [version, percent(text)] as const);
  return Object.fromEntries(entries.filter(([, share]) => share > 0));
}

const percent = (text: string) => (text.trim() === "" ? 0 : Number(text));
const round = (value: number) => Math.round(value * 100) / 100;
