import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { asProblem } from "../../api/problem";
import { useNotice } from "../../app/Notices";
import { Confirm } from "../../components/Confirm";
import { FailedFace } from "../../components/faces";
import { useDrain, type Worker } from "../../api/workers";

/** Asks before a worker is sent away. */
export function DrainDialog({ worker, onClose }: { worker: Worker; onClose: () => void }) {
  const say = useNotice();
  const drain = useDrain();
  const confirm = (): void =>
    drain.mutate(worker.worker_id, {
      onSuccess: () => {
        say(`${worker.worker_id} is leaving`);
        onClose();
      },
    });
  return (
    <Confirm
      open
      dangerous
      title={`Drain ${worker.worker_id}?`}
      verb="Drain"
      busy={drain.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Stack spacing={2}>
        <Typography>
          No new call is sent to it; it finishes the {worker.report.in_flight} it has in hand, and its process
          ends.
        </Typography>
        {drain.isError && <FailedFace problem={asProblem(drain.error)} />}
      </Stack>
    </Confirm>
  );
}
