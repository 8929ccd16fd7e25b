import { StatusChip, type Tone } from "../components/StatusChip";
import type { LiveState } from "./live";
import { useLive } from "./LiveProvider";

const WORDS: Record<LiveState["link"], { tone: Tone; label: string }> = {
  connecting: { tone: "quiet", label: "connecting" },
  live: { tone: "good", label: "live" },
  lost: { tone: "warn", label: "reconnecting" },
};

/** Whether what the page shows is of this second. */
export function LinkState() {
  const link = useLive((state) => state.link);
  return (
    <span role="status" aria-label="Live updates">
      <StatusChip {...WORDS[link]} />
    </span>
  );
}
