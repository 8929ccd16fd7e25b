import Alert from "@mui/material/Alert";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { UseMutationResult } from "@tanstack/react-query";
import type { CheckResult } from "../../../../api/configs";
import { asProblem } from "../../../../api/problem";
import { DiffLines } from "../../../../components/DiffLines";
import { FailedFace } from "../../../../components/faces";
import { GoldenTable } from "./GoldenTable";

/** What a check found: golden requests one by one, and how the text differs from what is live. */
export function CheckReport({ check }: { check: UseMutationResult<CheckResult, Error, void> }) {
  if (check.isError) return <FailedFace problem={asProblem(check.error)} />;
  if (!check.data) return null;
  const { ok, golden, diff } = check.data;
  return (
    <Stack spacing={2} component="section" aria-label="Check">
      <Alert severity={ok ? "success" : "error"} variant="outlined">
        {verdict(check.data)}
      </Alert>
      {golden.length > 0 && <GoldenTable golden={golden} />}
      <Typography variant="h2">Against what is live</Typography>
      <DiffLines lines={diff} label="Difference from what is live" />
    </Stack>
  );
}

function verdict({ ok, golden, problems }: CheckResult): string {
  const errors = problems.filter(({ severity }) => severity === "error").length;
  if (errors) return `${errors} ${errors === 1 ? "problem" : "problems"}: it would be refused.`;
  if (golden.length === 0) return "It compiles. There are no golden requests for it.";
  const failed = golden.filter(({ passed }) => !passed).length;
  return ok
    ? `It compiles, and ${golden.length} of ${golden.length} golden requests pass.`
    : `${failed} of ${golden.length} golden requests fail.`;
}
