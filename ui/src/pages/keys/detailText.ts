/** The details of a change, which come as JSON, in a line to read. */

export function detailText(json: string): string {
  const facts = parsed(json);
  if (facts === null) return json;
  return Object.entries(facts)
    .map(([name, value]) => [name, factText(value)] as const)
    .filter(([, text]) => text !== "")
    .map(([name, text]) => `${name} ${text}`)
    .join(" · ");
}

/** A digest's beginning is enough to tell it from others. */
function factText(value: unknown): string {
  if (Array.isArray(value)) return value.map(factText).join(", ");
  if (typeof value === "string") return /^[0-9a-f]{64}$/.test(value) ? value.slice(0, 12) : value;
  return value === null ? "" : JSON.stringify(value);
}

function parsed(json: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json || "{}");
    return typeof value === "object" ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}
