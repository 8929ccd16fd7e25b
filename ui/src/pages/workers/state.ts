/** How a worker stands, in a word and a tone; and how busy it is. */
import type { Tone } from "../../components/StatusChip";
import { milliseconds } from "../../components/format";
import type { LoadedModel, Worker } from "../../api/workers";

const SHOWN: Record<string, { label: string; tone: Tone }> = {
  online: { label: "online", tone: "good" },
  suspect: { label: "suspect", tone: "warn" },
  draining: { label: "draining", tone: "busy" },
  offline: { label: "dead", tone: "bad" },
};

export const shownState = (worker: Pick<Worker, "state">): { label: string; tone: Tone } =>
  SHOWN[worker.state] ?? { label: worker.state, tone: "quiet" };

/** What a dead worker last said of itself says nothing about now. */
export const isHeard = (worker: Pick<Worker, "state">): boolean => worker.state !== "offline";

/** Work per slot: 1 is as much as it does at once, and what is above waits. */
export const load = ({ report, slots }: Worker): number =>
  (report.in_flight + report.queued) / Math.max(slots, 1);

type Latency = "latency_p50_ms" | "latency_p95_ms" | "latency_p99_ms";

/** A dash where nothing was asked: the report has zeros then, and nothing is that quick. */
export const latency = (counted: Worker["report"] | LoadedModel, which: Latency): string =>
  milliseconds(counted.requests > 0 ? counted[which] : null);
