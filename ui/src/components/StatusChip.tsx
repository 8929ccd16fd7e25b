import Chip from "@mui/material/Chip";

export type Tone = "good" | "warn" | "bad" | "quiet" | "busy";

const COLOURS = { good: "success", warn: "warning", bad: "error", quiet: "default", busy: "info" } as const;

/** How a thing stands, in a word; the colour repeats the word and never replaces it. */
export function StatusChip({ tone, label }: { tone: Tone; label: string }) {
  return <Chip label={label} color={COLOURS[tone]} variant="outlined" sx={{ fontWeight: 600 }} />;
}
