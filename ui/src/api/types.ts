/** Shapes of the gateway's answers that more than one page knows, from its OpenAPI document. */
import type { components } from "./schema";

export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

export type Me = Schema<"Me">;
export type Part = keyof Me["parts"];

export type NodeMetrics = Schema<"LiveNode">;
export type ConfigMetrics = Schema<"LiveConfig">;
export type Overview = Schema<"LiveOverview">;
export type Worker = Schema<"FleetWorker">;
export type Metrics = Omit<Schema<"LiveMetrics">, "type"> & { type: "metrics" };

/** Over the live socket only, which OpenAPI does not describe. */
export type LiveEvent = { type: "event"; at_ms: number; kind: string; what: string; detail: string };
/** The first word after connecting; both oldest first. */
export type LiveHistory = { type: "history"; metrics: Metrics[]; events?: LiveEvent[] };
export type LiveMessage = Metrics | LiveEvent | LiveHistory;
