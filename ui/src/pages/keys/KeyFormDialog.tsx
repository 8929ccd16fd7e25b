import Checkbox from "@mui/material/Checkbox";
import FormControl from "@mui/material/FormControl";
import FormControlLabel from "@mui/material/FormControlLabel";
import FormGroup from "@mui/material/FormGroup";
import FormHelperText from "@mui/material/FormHelperText";
import FormLabel from "@mui/material/FormLabel";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { useState } from "react";
import { asProblem } from "../../api/problem";
import { Confirm } from "../../components/Confirm";
import { FailedFace } from "../../components/faces";
import type { KeyOrder, Permission } from "./api";
import { emptyKeyForm, keyFormProblems, keyOrder, type KeyForm } from "./keyState";

const PERMISSIONS: [Permission, string][] = [
  ["inference", "score and call models"],
  ["view", "look at everything"],
  ["configure", "publish configs and write features"],
  ["upload", "upload models"],
  ["worker", "join the fleet as a worker"],
  ["admin", "all of it, and keys"],
];

type Props = {
  isBusy: boolean;
  error: Error | null;
  onCreate: (order: KeyOrder) => void;
  onClose: () => void;
};

/** What a key is called, what it may do, and for how long. */
export function KeyFormDialog({ isBusy, error, onCreate, onClose }: Props) {
  const [form, setForm] = useState<KeyForm>(emptyKeyForm);
  const problems = keyFormProblems(form);
  const field = (name: "name" | "models" | "days" | "perSecond", label: string, hint: string) => (
    <TextField
      label={label}
      value={form[name]}
      required={name === "name"}
      error={form[name] !== "" && problems[name] !== undefined}
      helperText={form[name] !== "" && problems[name] ? problems[name] : hint}
      onChange={(event) => setForm({ ...form, [name]: event.target.value })}
    />
  );
  return (
    <Confirm
      open
      title="Create a key"
      verb="Create"
      busy={isBusy}
      disabled={Object.keys(problems).length > 0}
      onConfirm={() => onCreate(keyOrder(form, Date.now()))}
      onClose={onClose}
    >
      <Stack spacing={2} sx={{ pt: 1 }}>
        {field("name", "Name", "Who or what will call with it.")}
        <Permissions
          chosen={form.permissions}
          onChoose={(permissions) => setForm({ ...form, permissions })}
        />
        {field("models", "Models", "Patterns such as click_*; all models when empty.")}
        {field("days", "Days until it expires", "Never when empty.")}
        {field("perSecond", "Requests per second", "Without limit when empty.")}
        {error && <FailedFace problem={asProblem(error)} />}
      </Stack>
    </Confirm>
  );
}

function Permissions({
  chosen,
  onChoose,
}: {
  chosen: Permission[];
  onChoose: (chosen: Permission[]) => void;
}) {
  const turned = (name: Permission, on: boolean): Permission[] =>
    on ? [...chosen, name] : chosen.filter((each) => each !== name);
  return (
    <FormControl component="fieldset" error={chosen.length === 0}>
      <FormLabel component="legend">It may</FormLabel>
      <FormGroup>
        {PERMISSIONS.map(([name, meaning]) => (
          <FormControlLabel
            key={name}
            label={`${name}: ${meaning}`}
            control={
              <Checkbox
                size="small"
                checked={chosen.includes(name)}
                onChange={(_, on) => onChoose(turned(name, on))}
              />
            }
          />
        ))}
      </FormGroup>
      {chosen.length === 0 && <FormHelperText>Choose at least one.</FormHelperText>}
    </FormControl>
  );
}
