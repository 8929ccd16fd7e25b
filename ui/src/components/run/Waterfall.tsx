import Box from "@mui/material/Box";
import Tooltip from "@mui/material/Tooltip";
import Typography from "@mui/material/Typography";
import type { Run, RunStep } from "../../api/runs";
import { microseconds } from "../format";
import { StatusChip } from "../StatusChip";
import { kindColour } from "./kinds";
import { stepNotes } from "./stepNotes";

/** Steps as bars over time: what waited for what, and where the time went. */
export function Waterfall({ run }: { run: Run }) {
  const total = Math.max(run.total_us, 1);
  return (
    <Box component="ol" aria-label="Steps over time" sx={{ listStyle: "none", m: 0, p: 0 }}>
      {run.steps.map((step) => (
        <Bar key={step.step} step={step} total={total} />
      ))}
      <Box component="li" sx={{ ...ROW, color: "text.secondary", fontSize: 12, pt: 0.5 }}>
        <span />
        <Box sx={{ display: "flex", justifyContent: "space-between" }}>
          <span>0</span>
          <span>{microseconds(run.total_us)}</span>
        </Box>
        <span />
      </Box>
    </Box>
  );
}

const ROW = {
  display: "grid",
  gridTemplateColumns: { xs: "112px 1fr 64px", sm: "168px 1fr 72px" },
  columnGap: 1.5,
  alignItems: "center",
} as const;

function Bar({ step, total }: { step: RunStep; total: number }) {
  const from = ((step.start_us ?? 0) / total) * 100;
  const width = Math.max((step.duration_us / total) * 100, 0.4);
  const notes = stepNotes(step);
  return (
    <Box component="li" sx={{ ...ROW, py: 0.5 }}>
      <Typography variant="body2" noWrap title={step.step} sx={{ fontWeight: 600 }}>
        {step.step}
      </Typography>
      <Tooltip title={notes.join(" · ")} placement="top">
        <Box
          sx={{ position: "relative", height: 18, bgcolor: "action.hover", borderRadius: 0.5 }}
          role="img"
          aria-label={`${step.step} took ${microseconds(step.duration_us)}. ${notes.join(", ")}`}
        >
          <Box
            sx={{
              position: "absolute",
              top: 0,
              bottom: 0,
              left: `${Math.min(from, 99.6)}%`,
              width: `${Math.min(width, 100 - Math.min(from, 99.6))}%`,
              bgcolor: step.error ? "error.main" : kindColour(step.kind),
              opacity: step.skipped ? 0.35 : 1,
              borderRadius: 0.5,
            }}
          />
        </Box>
      </Tooltip>
      <Typography variant="body2" sx={{ textAlign: "right" }}>
        {step.error ? <StatusChip tone="bad" label="failed" /> : microseconds(step.duration_us)}
      </Typography>
    </Box>
  );
}
