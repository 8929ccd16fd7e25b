/** How an event is told, and where to look for more of it. */
import type { LiveEvent } from "../../api/types";
import type { Tone } from "../../components/StatusChip";

type Told = { label: string; tone: Tone; page: "configs" | "workers" | "models" | "keys" };

const TOLD: Record<string, Told> = {
  config_live: { label: "config live", tone: "good", page: "configs" },
  config_refused: { label: "config refused", tone: "bad", page: "configs" },
  config_removed: { label: "config removed", tone: "quiet", page: "configs" },
  worker_online: { label: "worker online", tone: "good", page: "workers" },
  worker_suspect: { label: "worker suspect", tone: "warn", page: "workers" },
  worker_dead: { label: "worker dead", tone: "bad", page: "workers" },
  worker_left: { label: "worker left", tone: "quiet", page: "workers" },
  model_uploaded: { label: "model uploaded", tone: "busy", page: "models" },
  model_promoted: { label: "model promoted", tone: "good", page: "models" },
  key_created: { label: "key created", tone: "busy", page: "keys" },
  key_revoked: { label: "key revoked", tone: "warn", page: "keys" },
};

export function told({ kind, what }: LiveEvent): { label: string; tone: Tone; to: string } {
  const known = TOLD[kind];
  if (!known) return { label: kind.replaceAll("_", " "), tone: "quiet", to: "/" };
  const isNamed = known.page === "configs" && kind !== "config_removed";
  return { ...known, to: isNamed ? `/configs/${encodeURIComponent(what)}` : `/${known.page}` };
}
