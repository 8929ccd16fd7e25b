import LinearProgress from "@mui/material/LinearProgress";
import Typography from "@mui/material/Typography";
import { percent } from "../../components/format";

/** How much was sent; once all of it was, the registry is opening and checking it. */
export function UploadProgress({ sent }: { sent: number }) {
  const isSent = sent >= 1;
  return (
    <div>
      <LinearProgress
        variant={isSent ? "indeterminate" : "determinate"}
        value={sent * 100}
        aria-label="Upload"
      />
      <Typography color="textSecondary" role="status">
        {isSent ? "Sent; it is being checked…" : `${percent(sent)} sent`}
      </Typography>
    </div>
  );
}
