import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { asProblem } from "../../api/problem";
import { useNotice } from "../../app/Notices";
import { Confirm } from "../../components/Confirm";
import { FailedFace } from "../../components/faces";
import { useRevokeKey, type KeyCard } from "./api";

/** Asks before a key ends. */
export function RevokeDialog({ card, onClose }: { card: KeyCard; onClose: () => void }) {
  const say = useNotice();
  const revoke = useRevokeKey();
  const confirm = (): void =>
    revoke.mutate(card.key_id, {
      onSuccess: () => {
        say(`${card.name} is revoked`);
        onClose();
      },
    });
  return (
    <Confirm
      open
      dangerous
      title={`Revoke ${card.name}?`}
      verb="Revoke"
      busy={revoke.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Stack spacing={2}>
        <Typography>
          Whoever calls with it is refused from now on, by workers within a heartbeat. This cannot be undone:
          a new key would have to be made.
        </Typography>
        {revoke.isError && <FailedFace problem={asProblem(revoke.error)} />}
      </Stack>
    </Confirm>
  );
}
