import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import type { UseQueryResult } from "@tanstack/react-query";
import type { Plan, Validation } from "../../../../api/configs";
import type { Finding } from "../../../../api/problem";
import { PageState } from "../../../../components/PageState";
import { ProblemList } from "../../../../components/ProblemList";

type Props = { validation: UseQueryResult<Validation>; onPick: (problem: Finding) => void };

/** What the compiler says of the text as it stands. */
export function ValidationPanel({ validation, onPick }: Props) {
  return (
    <Paper variant="outlined" sx={{ p: 2, maxHeight: { lg: "min(64vh, 640px)" }, overflow: "auto" }}>
      <Typography variant="h2" gutterBottom>
        Problems
      </Typography>
      <div role="status">
        <PageState query={validation}>{(data) => <Findings validation={data} onPick={onPick} />}</PageState>
      </div>
    </Paper>
  );
}

function Findings({ validation, onPick }: { validation: Validation; onPick: Props["onPick"] }) {
  const { problems, plan, ok } = validation;
  return (
    <>
      {ok && <Typography color="textSecondary">{compiled(plan)}</Typography>}
      <ProblemList problems={problems} onPick={onPick} />
    </>
  );
}

function compiled(plan: Plan | null): string {
  if (!plan) return "It compiles.";
  const columns = plan.response_columns.length;
  return `It compiles: ${plan.nodes.length} steps, ${columns} ${columns === 1 ? "column" : "columns"} in the answer.`;
}
