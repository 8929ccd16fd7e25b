import Button from "@mui/material/Button";
import MenuItem from "@mui/material/MenuItem";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { configQueries, type Plan } from "../../api/configs";
import type { RunStep } from "../../api/runs";
import { Confirm } from "../../components/Confirm";

type Models = Record<string, string>;
type Props = { config: string; steps: RunStep[]; models: Models; onChange: (models: Models) => void };

/** Other versions of the models, by step. */
export function ModelVersions({ config, steps, models, onChange }: Props) {
  const plan = useQuery(configQueries.plan(config));
  const [wanted, setWanted] = useState<Models | null>(null);
  const close = (): void => setWanted(null);
  const apply = (): void => {
    onChange(Object.fromEntries(Object.entries(wanted ?? {}).filter(([, version]) => version.trim())));
    close();
  };
  return (
    <>
      <Button variant="outlined" onClick={() => setWanted(models)}>
        Try another model version
      </Button>
      <Confirm
        open={wanted !== null}
        title="Other model versions"
        verb="Score"
        onConfirm={apply}
        onClose={close}
      >
        <Typography sx={{ mb: 2 }}>A field left empty keeps the version that the config asks for.</Typography>
        <Stack spacing={2}>
          {steps.map((step) => (
            <VersionField
              key={step.step}
              step={step}
              versions={versionsOf(plan.data, step.step)}
              value={wanted?.[step.step] ?? ""}
              onChange={(version) => setWanted((now) => ({ ...now, [step.step]: version }))}
            />
          ))}
        </Stack>
      </Confirm>
    </>
  );
}

/** Those that can be switched to, where the plan knows them. */
const versionsOf = (plan: Plan | undefined, step: string): string[] =>
  plan?.nodes.find(({ id }) => id === step)?.facts.versions?.split(", ") ?? [];

type FieldProps = { step: RunStep; versions: string[]; value: string; onChange: (version: string) => void };

function VersionField({ step: { step, answered_by }, versions, value, onChange }: FieldProps) {
  return (
    <TextField
      select={versions.length > 0}
      label={step}
      helperText={answered_by ? `Answered by ${answered_by}` : undefined}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {versions.length > 0 && <MenuItem value="">as the config asks</MenuItem>}
      {versions.map((version) => (
        <MenuItem key={version} value={version}>
          {version}
        </MenuItem>
      ))}
    </TextField>
  );
}
