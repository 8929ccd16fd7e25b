import MenuItem from "@mui/material/MenuItem";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useState } from "react";
import { asProblem } from "../../../api/problem";
import { useNotice } from "../../../app/Notices";
import { Confirm } from "../../../components/Confirm";
import { FailedFace } from "../../../components/faces";
import { STAGES, usePromote, type Model, type ModelVersion, type Stage } from "../api";

type Props = { model: Model; version: ModelVersion; onClose: () => void };

/** Moves a version to another stage: a release, a rollback, or the archive. */
export function StageDialog({ model, version, onClose }: Props) {
  const say = useNotice();
  const promote = usePromote(model.name);
  const others = STAGES.filter((stage) => stage !== version.stage);
  const [stage, setStage] = useState<Stage>(version.stage === "production" ? "archived" : "production");
  const [reason, setReason] = useState("");
  const confirm = (): void =>
    promote.mutate(
      { version: version.version, stage, reason },
      {
        onSuccess: () => {
          say(`${model.name} ${version.version} is in ${stage}`);
          onClose();
        },
      },
    );
  return (
    <Confirm
      open
      title={`Stage of ${model.name} ${version.version}`}
      verb={`Move to ${stage}`}
      busy={promote.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Stack spacing={2} sx={{ pt: 1 }}>
        <TextField
          select
          label="Stage"
          value={stage}
          onChange={(event) => setStage(event.target.value as Stage)}
        >
          {others.map((each) => (
            <MenuItem key={each} value={each}>
              {each}
            </MenuItem>
          ))}
        </TextField>
        <TextField
          label="Reason"
          helperText="Kept in its history."
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        <Typography>{effect(model, version, stage)}</Typography>
        {promote.isError && <FailedFace problem={asProblem(promote.error)} />}
      </Stack>
    </Confirm>
  );
}

/** What others will notice of it. */
function effect(model: Model, version: ModelVersion, stage: string): string {
  const current = model.versions.find((each) => each.stage === "production");
  if (stage === "production" && current)
    return `Version ${current.version} is replaced and goes to the archive; a traffic split ends. Calls get version ${version.version} from now on.`;
  if (stage === "production") return `Calls get version ${version.version} from now on.`;
  if (version.stage === "production")
    return "Nothing is in production then: calls without a version are refused.";
  return "Calls notice nothing.";
}
