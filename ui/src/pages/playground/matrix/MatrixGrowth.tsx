import PauseIcon from "@mui/icons-material/Pause";
import PlayIcon from "@mui/icons-material/PlayArrow";
import Box from "@mui/material/Box";
import IconButton from "@mui/material/IconButton";
import Slider from "@mui/material/Slider";
import Typography from "@mui/material/Typography";
import { useEffect, useState } from "react";
import type { Matrix } from "../../../api/runs";
import { microseconds } from "../../../components/format";
import { MatrixTable } from "./MatrixTable";
import { moments } from "./moments";

const FRAME_MS = 700;

/** The matrix as the steps filled it: drag or play through the moments at which columns came. */
export function MatrixGrowth({ matrix }: { matrix: Matrix }) {
  const stops = moments(matrix.columns);
  const [at, setAt] = useState(stops.length);
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying) return;
    const timer = window.setTimeout(() => {
      if (at < stops.length) setAt(at + 1);
      if (at + 1 >= stops.length) setPlaying(false);
    }, FRAME_MS);
    return () => window.clearTimeout(timer);
  }, [isPlaying, at, stops.length]);
  const toggle = (): void => {
    if (!isPlaying && at >= stops.length) setAt(0);
    setPlaying(!isPlaying);
  };
  const shown = stops.slice(0, at);
  return (
    <>
      <Box sx={{ display: "flex", flexWrap: "wrap", alignItems: "center", columnGap: 2, mb: 1 }}>
        <Typography variant="h2">Matrix</Typography>
        <Typography variant="body2" color="textSecondary" sx={{ flexGrow: 1 }} role="status">
          {shown.flatMap(({ columns }) => columns).length} of {matrix.columns.length} columns, {matrix.rows}{" "}
          rows
          {shown.length > 0 && ` · after ${shown.at(-1)?.step}, ${microseconds(shown.at(-1)?.at_us)}`}
        </Typography>
        <Box sx={{ display: "flex", alignItems: "center", gap: 2, width: { xs: "100%", sm: 280 } }}>
          <IconButton aria-label={isPlaying ? "Pause" : "Play the steps"} onClick={toggle}>
            {isPlaying ? <PauseIcon /> : <PlayIcon />}
          </IconButton>
          <Slider
            size="small"
            aria-label="Steps done"
            min={0}
            max={stops.length}
            step={1}
            marks
            value={at}
            getAriaValueText={(value) =>
              value ? `after ${stops[value - 1]?.step}` : "before the first step"
            }
            onChange={(_, value) => setAt(value as number)}
          />
        </Box>
      </Box>
      <MatrixTable moments={shown} ids={matrix.ids} isComplete={at === stops.length} />
      {matrix.rows > matrix.ids.length && (
        <Typography variant="caption" color="textSecondary">
          The first {matrix.ids.length} rows of {matrix.rows}.
        </Typography>
      )}
    </>
  );
}
