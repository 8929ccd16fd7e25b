import Box from "@mui/material/Box";
import LinearProgress from "@mui/material/LinearProgress";
import Typography from "@mui/material/Typography";
import type { Worker } from "../../api/workers";
import { isHeard, load } from "./state";

/** Calls in hand of as many as it does at once, and how many wait. */
export function LoadBar({ worker }: { worker: Worker }) {
  if (!isHeard(worker)) return "–";
  const { in_flight, queued } = worker.report;
  const share = Math.min(load(worker), 1) * 100;
  return (
    <Box sx={{ minWidth: 120 }}>
      <LinearProgress
        variant="determinate"
        value={share}
        color={queued > 0 ? "warning" : "primary"}
        aria-label={`Load of ${worker.worker_id}`}
      />
      <Typography variant="caption" color="textSecondary">
        {in_flight} of {worker.slots} in flight{queued > 0 && `, ${queued} waiting`}
      </Typography>
    </Box>
  );
}
