import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useNavigate } from "react-router";
import { asProblem } from "../../../api/problem";
import { useNotice } from "../../../app/Notices";
import { Confirm } from "../../../components/Confirm";
import { FailedFace } from "../../../components/faces";
import { useDeleteVersion, type Model, type ModelVersion } from "../api";

type Props = { model: Model; version: ModelVersion; onClose: () => void };

/** Asks before a version is forgotten. */
export function DeleteDialog({ model, version, onClose }: Props) {
  const say = useNotice();
  const navigate = useNavigate();
  const remove = useDeleteVersion(model);
  const title = `${version.model} ${version.version}`;
  const confirm = (): void =>
    remove.mutate(version.version, {
      onSuccess: () => {
        say(`${title} is deleted`);
        onClose();
        if (model.versions.length === 1) void navigate("/models");
      },
    });
  return (
    <Confirm
      open
      dangerous
      title={`Delete ${title}?`}
      verb="Delete"
      busy={remove.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Stack spacing={2}>
        <Typography>
          Its files are removed for good, and its number is not used again. To go back to it later, archive it
          instead.
        </Typography>
        {remove.isError && <FailedFace problem={asProblem(remove.error)} />}
      </Stack>
    </Confirm>
  );
}
