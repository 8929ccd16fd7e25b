import Alert from "@mui/material/Alert";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { Answer, Play } from "../../api/runs";
import { microseconds } from "../../components/format";
import { Waterfall } from "../../components/run/Waterfall";
import { MatrixGrowth } from "./matrix/MatrixGrowth";
import { GroupTable } from "./ranking/GroupTable";
import { Ranking } from "./ranking/Ranking";

/** Where only pairs or slates are scored, targets come without. */
const hasScores = ({ targets }: Answer): boolean =>
  targets?.some(({ scores, error }) => error || Object.keys(scores).length > 0) ?? false;

type Props = { play: Play; item: string | null; onPick: (item: string) => void };

/** The answer, and how it came about: ranking, steps over time, the matrix they filled. */
export function Results({ play: { answer, baseline, run, matrix }, item, onPick }: Props) {
  return (
    <Stack spacing={2}>
      {answer.request_error && <Alert severity="error">{answer.request_error}</Alert>}
      <Paper variant="outlined" component="section" aria-label="Ranking" sx={{ p: 2 }}>
        {hasScores(answer) && <Ranking {...{ answer, baseline, item, onPick }} />}
        <GroupTable answer={answer} />
      </Paper>
      <Paper variant="outlined" component="section" aria-label="Waterfall" sx={{ p: 2 }}>
        <Typography variant="h2" gutterBottom>
          {run.targets} {run.targets === 1 ? "target" : "targets"} in {microseconds(run.total_us)}
        </Typography>
        <Waterfall run={run} />
      </Paper>
      <Paper variant="outlined" component="section" aria-label="Matrix" sx={{ p: 2 }}>
        <MatrixGrowth key={answer.tracking_id + run.total_us} matrix={matrix} />
      </Paper>
    </Stack>
  );
}
