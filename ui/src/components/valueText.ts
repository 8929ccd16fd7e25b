/** A value of a column in one line, vectors included. */
import { number } from "./format";

const SHOWN = 8;

export function valueText(value: unknown, digits = 4): string {
  if (Array.isArray(value)) return listText(value, digits);
  if (typeof value === "number") return number(value, digits);
  if (typeof value === "string") return value === "" ? "“”" : value;
  return value === null || value === undefined ? "–" : String(value);
}

function listText(values: unknown[], digits: number): string {
  const first = values
    .slice(0, SHOWN)
    .map((value) => valueText(value, digits))
    .join(", ");
  return values.length > SHOWN ? `[${first}, … ${values.length}]` : `[${first}]`;
}
