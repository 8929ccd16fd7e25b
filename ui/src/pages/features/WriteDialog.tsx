import MenuItem from "@mui/material/MenuItem";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useState } from "react";
import { asProblem } from "../../api/problem";
import { useNotice } from "../../app/Notices";
import { Confirm } from "../../components/Confirm";
import { FailedFace } from "../../components/faces";
import { useWriteFeatures, type Entity } from "./api";
import { readForm } from "./writeForm";

type Props = { entity: Entity; onClose: () => void; onWritten: (key: string[]) => void };

/** Writes values under one key. The button says to where, for the next request already sees them. */
export function WriteDialog({ entity, onClose, onWritten }: Props) {
  const say = useNotice();
  const write = useWriteFeatures();
  const [key, setKey] = useState<string[]>(entity.keys.map(() => ""));
  const [group, setGroup] = useState(entity.groups[0]?.name ?? "");
  const [typed, setTyped] = useState<Record<string, string>>({});
  const features = entity.groups.find(({ name }) => name === group)?.features ?? [];
  const form = readForm(key, features, typed);
  const confirm = (): void =>
    write.mutate(
      { entity: entity.name, group, key, values: form.values },
      {
        onSuccess: () => {
          say(`${entity.name} ${key.join(", ")} is written`);
          onWritten(key);
          onClose();
        },
      },
    );
  return (
    <Confirm
      open
      title={`Write values of ${entity.name}`}
      verb={
        form.isReady
          ? `Write ${Object.keys(form.values).length} to the live store`
          : "Write to the live store"
      }
      dangerous
      busy={write.isPending}
      disabled={!form.isReady}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Stack spacing={2} sx={{ pt: 1 }}>
        <Typography>
          Requests see the new values at once. What is left empty below is not written and keeps its value.
        </Typography>
        {entity.keys.map((name, at) => (
          <TextField
            key={name}
            label={name}
            required
            value={key[at]}
            onChange={(event) => setKey(key.with(at, event.target.value))}
          />
        ))}
        <TextField select label="Group" value={group} onChange={(event) => setGroup(event.target.value)}>
          {entity.groups.map(({ name }) => (
            <MenuItem key={name} value={name}>
              {name}
            </MenuItem>
          ))}
        </TextField>
        {features.map(({ name, dtype }) => (
          <TextField
            key={name}
            label={`${name} (${dtype})`}
            value={typed[name] ?? ""}
            error={form.problems[name] !== undefined}
            helperText={form.problems[name]}
            onChange={(event) => setTyped({ ...typed, [name]: event.target.value })}
          />
        ))}
        {write.isError && <FailedFace problem={asProblem(write.error)} />}
      </Stack>
    </Confirm>
  );
}
