import type { Recording } from "../../api/runs";
import type { Tone } from "../../components/StatusChip";

/** Why a server kept a request. */
export const BECAUSE: Record<string, Tone> = { asked: "busy", failed: "bad", slow: "warn" };

export const becauseChip = ({ kept_because }: Recording): { tone: Tone; label: string } => ({
  tone: BECAUSE[kept_because] ?? "quiet",
  label: kept_because,
});
