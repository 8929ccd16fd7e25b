import type { Plan } from "../../../../api/configs";

/** The step that writes a column; nothing where the request itself brings it. */
export const writerOf = (plan: Plan, column: string): string | undefined =>
  plan.nodes.find((node) => node.writes.some((written) => written.column === column))?.id;
