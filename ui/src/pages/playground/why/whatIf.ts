import type { ItemColumn, Overrides, ValueOverride } from "../../../api/runs";

/** Features and the request's context can be set; what steps compute follows from them. */
export function isEditable({ state, source }: ItemColumn, kind: string | undefined): boolean {
  if (kind === "feature") return state !== "key";
  return kind === "init" && source.startsWith("context");
}

/** A second value for the same place replaces the first. */
export function withValue(overrides: Overrides, added: ValueOverride): Overrides {
  const others = overrides.values.filter(({ column, id }) => column !== added.column || id !== added.id);
  return { ...overrides, values: [...others, added] };
}
