/** A request as text and back; ids and values as they are typed into a field. */
import type { Plan } from "../../../api/configs";
import type { ScoreRequest, Value } from "../../../api/runs";

export const requestText = (request: ScoreRequest): string => JSON.stringify(request, null, 2);

export type Read = { request: ScoreRequest; error: null } | { request: null; error: string };

export function readRequest(text: string): Read {
  try {
    const request: unknown = JSON.parse(text);
    if (typeof request === "object" && request !== null && !Array.isArray(request)) {
      return { request: request as ScoreRequest, error: null };
    }
    return { request: null, error: "A request is an object: { … }" };
  } catch (error) {
    return { request: null, error: error instanceof Error ? error.message : String(error) };
  }
}

/** An empty request with the names that the config asks for. */
export const starter = (config: string, inputs: Plan["inputs"] | undefined): ScoreRequest => ({
  model_config_id: config,
  entities: Object.fromEntries((inputs?.entities ?? []).map((name) => [name, ""])),
  context: Object.fromEntries((inputs?.context ?? []).map((name) => [name, ""])),
});

/** What a request has by name; nothing for what is no object. */
export const namesIn = (part: unknown): Record<string, Value> =>
  typeof part === "object" && part !== null && !Array.isArray(part) ? (part as Record<string, Value>) : {};

export const idsText = (ids: Value): string => (Array.isArray(ids) ? ids.join(", ") : String(ids ?? ""));

/** One id stays one, as it was; several become a list. */
export function idsFrom(text: string, before: Value): Value {
  const ids = text
    .split(/[\s,]+/)
    .map((id) => id.trim())
    .filter(Boolean);
  return ids.length === 1 && !Array.isArray(before) ? (ids[0] ?? "") : ids;
}

/** Numbers, true, false, null and lists as JSON has them; anything else is text. */
export function valueFrom(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return text;
  }
}

export const valueAsTyped = (value: Value): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? "");
