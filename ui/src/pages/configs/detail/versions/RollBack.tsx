import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { rollBackConfig, type Version } from "../../../../api/configs";
import { asProblem } from "../../../../api/problem";
import { useNotice } from "../../../../app/Notices";
import { Confirm } from "../../../../components/Confirm";
import { FailedFace } from "../../../../components/faces";

type Props = { id: string; current: number; target: Version | null; onClose: () => void };

/** Asks, then makes an earlier version live as a new one: history only grows. */
export function RollBack({ id, current, target, onClose }: Props) {
  const queries = useQueryClient();
  const say = useNotice();
  const back = useMutation({
    mutationFn: (to: number) => rollBackConfig(id, to, current),
    onSuccess: ({ version }, to) => {
      say(`Version ${to} is live again, as version ${version.number}`);
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["configs"] }),
  });
  const close = (): void => {
    back.reset();
    onClose();
  };
  return (
    <Confirm
      open={target !== null}
      title={`Roll back to version ${target?.number}?`}
      verb="Roll back"
      busy={back.isPending}
      onConfirm={() => target && back.mutate(target.number)}
      onClose={close}
    >
      <Stack spacing={2}>
        <Typography>
          The text of version {target?.number} is checked and becomes a new version. Requests use it from then
          on.
        </Typography>
        {back.isError && <FailedFace problem={asProblem(back.error)} />}
      </Stack>
    </Confirm>
  );
}
