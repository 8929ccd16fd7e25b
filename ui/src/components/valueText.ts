/** A value of a column in one line, vectors included. */
import { number } from "./format";

const SHOWN = 8;

export function valueText(value: unknown): string {
  if (Array.isArray(value)) return listText(value);
  if (typeof value === "number") return number(value, 6);
  if (typeof value === "string") return value === "" ? "“”" : value;
  return value === null || value === undefined ? "–" : String(value);
}

function listText(values: unknown[]): string {
  const first = values.slice(0, SHOWN).map(valueText).join(", ");
  return values.length > SHOWN ? `[${first}, … ${values.length}]` : `[${first}]`;
}
