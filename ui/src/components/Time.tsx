import Tooltip from "@mui/material/Tooltip";
import { ago, clock } from "./format";
import { useNow } from "./useNow";

/** A moment as "3 min ago", with the exact time on hover and for readers. */
export function Time({ at_ms }: { at_ms: number | null | undefined }) {
  const now = useNow();
  return (
    <Tooltip title={clock(at_ms)}>
      <time dateTime={at_ms ? new Date(at_ms).toISOString() : undefined} style={{ whiteSpace: "nowrap" }}>
        {ago(at_ms, now)}
      </time>
    </Tooltip>
  );
}
