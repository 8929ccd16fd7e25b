import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { ConfigStatus } from "../../../api/configs";
import { Facts } from "../../../components/Facts";
import { ProblemList } from "../../../components/ProblemList";
import { Time } from "../../../components/Time";

const MEANING: Record<ConfigStatus["state"], string> = {
  serving: "What is written is what serves.",
  "last good": "What is written now was refused; the version before it still serves.",
  refused: "What is written was refused, and nothing serves.",
};

/** What serves, since when and from whom, and what is wrong with what is written. */
export function StatusTab({ status }: { status: ConfigStatus }) {
  return (
    <Stack spacing={2}>
      <Paper variant="outlined" sx={{ p: 2 }}>
        <Typography sx={{ mb: 1.5 }}>{MEANING[status.state]}</Typography>
        <Facts facts={factsOf(status)} />
      </Paper>
      <Paper variant="outlined" sx={{ p: 2 }}>
        <Typography variant="h2" gutterBottom>
          Problems
        </Typography>
        {status.problems.length ? (
          <ProblemList problems={status.problems} />
        ) : (
          <Typography color="textSecondary">None: every name is resolved and every type fits.</Typography>
        )}
      </Paper>
    </Stack>
  );
}

function factsOf(status: ConfigStatus) {
  const facts: [string, React.ReactNode][] = [
    ["Written in", <code className="mono">{status.file || "–"}</code>],
  ];
  if (status.split) {
    const arms = Object.entries(status.split).map(([arm, share]) => `${arm} ${share} %`);
    facts.push(["Split", arms.join(", ")]);
  }
  if (status.version) facts.push(["Version", status.version]);
  if (status.accepted_ms) facts.push(["Live", <Time at_ms={status.accepted_ms} />]);
  if (status.origin) facts.push(["Came by", status.origin]);
  if (status.author) facts.push(["From", status.author]);
  if (status.hash) facts.push(["Hash", <code className="mono">{status.hash}</code>]);
  if (status.plan) facts.push(["Plan", <code className="mono">{status.plan}</code>]);
  return facts;
}
