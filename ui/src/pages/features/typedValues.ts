/** Text from a form, read as the keys and values the feature store expects. */

export interface FeatureSpec {
  name: string;
  dtype: string;
}

/** One key per line; the parts of a composite key are separated by commas. */
export function readKeys(text: string, parts: number): { keys: string[][]; problem: string | null } {
  const lines = text.split("\n").map((line) => line.trim());
  const keys = lines.filter(Boolean).map((line) => splitKey(line, parts));
  if (keys.length === 0) return { keys, problem: "Enter at least one key." };
  const wrong = keys.find((key) => key.length !== parts || key.some((part) => part === ""));
  if (!wrong) return { keys, problem: null };
  const wanted = `This entity's keys have ${parts} parts, separated by commas`;
  return { keys, problem: `${wanted}; “${wrong.join(",")}” has ${wrong.filter(Boolean).length}.` };
}

// A simple key is taken as it is: it may well have commas in it.
const splitKey = (line: string, parts: number) =>
  parts === 1 ? [line] : line.split(",").map((part) => part.trim());

export type FeatureValue = string | number | boolean | FeatureValue[];

/** Reads what was typed for a feature, or says what was expected instead. */
export function readValue(
  spec: FeatureSpec,
  text: string,
): { value: FeatureValue; problem: null } | { value: null; problem: string } {
  const typed = text.trim();
  if (/string|bytes/i.test(spec.dtype) && !isVector(spec)) return { value: text, problem: null };
  const value = parsed(typed);
  if (isVector(spec))
    return Array.isArray(value) ? { value, problem: null } : expected(spec, "a list such as [0.1, 2]");
  if (/bool/i.test(spec.dtype))
    return typeof value === "boolean" ? { value, problem: null } : expected(spec, "true or false");
  return typeof value === "number" ? { value, problem: null } : expected(spec, "a number");
}

const isVector = (spec: FeatureSpec) => /vector/i.test(spec.dtype);

const expected = (spec: FeatureSpec, what: string) => ({
  value: null,
  problem: `${spec.name} is ${spec.dtype}: ${what} is expected.`,
});

function parsed(text: string): FeatureValue | null {
  try {
    return JSON.parse(text) as FeatureValue;
  } catch {
    return null;
  }
}
