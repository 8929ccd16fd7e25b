import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useState } from "react";
import { ApiError, asProblem, type GoldenResult } from "../../../../api/problem";
import { Confirm } from "../../../../components/Confirm";
import { FailedFace } from "../../../../components/faces";
import { GoldenTable } from "./GoldenTable";

type Props = { error: Error | null; isBusy: boolean; onForce: (note: string) => void };

/** Why a publication was refused. Failing golden requests, and only those, can be overruled. */
export function Refusal({ error, isBusy, onForce }: Props) {
  if (!error || (error instanceof ApiError && error.status === 409)) return null;
  const problem = asProblem(error);
  const failing = (problem.golden ?? []).some(({ passed }) => !passed);
  return (
    <Stack spacing={2}>
      <FailedFace problem={problem} />
      {failing && <Overrule golden={problem.golden ?? []} isBusy={isBusy} onForce={onForce} />}
    </Stack>
  );
}

function Overrule({
  golden,
  isBusy,
  onForce,
}: {
  golden: GoldenResult[];
  isBusy: boolean;
  onForce: (note: string) => void;
}) {
  const [isAsking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  return (
    <>
      <GoldenTable golden={golden} />
      <div>
        <Button color="error" variant="outlined" onClick={() => setAsking(true)}>
          Publish all the same…
        </Button>
      </div>
      <Confirm
        open={isAsking}
        title="Publish with failing golden requests?"
        verb="Publish all the same"
        dangerous
        busy={isBusy}
        disabled={!reason.trim()}
        onConfirm={() => onForce(reason.trim())}
        onClose={() => setAsking(false)}
      >
        <Typography sx={{ mb: 2 }}>
          Requests with known answers will be answered differently from now on. Say why; it stays in the
          history.
        </Typography>
        <TextField
          label="Reason"
          fullWidth
          autoFocus
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </Confirm>
    </>
  );
}
