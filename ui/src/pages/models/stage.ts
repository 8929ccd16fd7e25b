/** How a stage is shown. */
import type { Tone } from "../../components/StatusChip";

const TONES: Record<string, Tone> = { production: "good", staging: "busy", dev: "quiet", archived: "quiet" };

export const stageTone = (stage: string): Tone => TONES[stage] ?? "quiet";
