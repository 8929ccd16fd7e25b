import type { Value } from "../../api/runs";
import { number } from "../format";

/** A value of any type, short enough for a cell. */
export function valueText(value: Value): string {
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return `[${value.map(valueText).join(", ")}]`;
  if (typeof value === "number") return number(value);
  return String(value);
}
