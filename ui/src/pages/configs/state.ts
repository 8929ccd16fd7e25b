import type { ConfigStatus } from "../../api/configs";
import type { Tone } from "../../components/StatusChip";

const TONES: Record<ConfigStatus["state"], Tone> = { serving: "good", "last good": "warn", refused: "bad" };

/** How a config stands, as a chip says it. */
export const stateChip = ({ state }: Pick<ConfigStatus, "state">): { tone: Tone; label: string } => ({
  tone: TONES[state],
  label: state,
});
