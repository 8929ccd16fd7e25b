import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Chip from "@mui/material/Chip";
import { isWhatIf, type Overrides, type Play } from "../../api/runs";
import { valueText } from "../../components/valueText";
import { ModelVersions } from "./ModelVersions";
import { NO_OVERRIDES } from "./usePlay";

type Props = {
  config: string;
  overrides: Overrides;
  result: Play | undefined;
  onChange: (overrides: Overrides) => void;
};

/** What differs from the real request, each to be taken back, or all at once. */
export function WhatIfBar({ config, overrides, result, onChange }: Props) {
  const { values, models } = overrides;
  const ran = (result?.run.steps ?? []).filter(({ kind }) => kind === "model");
  if (ran.length === 0 && !isWhatIf(overrides)) return null;
  return (
    <Box sx={{ display: "flex", flexWrap: "wrap", alignItems: "center", gap: 1 }}>
      {isWhatIf(overrides) && <Differences overrides={overrides} onChange={onChange} />}
      {ran.length > 0 && (
        <ModelVersions
          {...{ config, models }}
          steps={ran}
          onChange={(next) => onChange({ values, models: next })}
        />
      )}
    </Box>
  );
}

function Differences({ overrides, onChange }: Pick<Props, "overrides" | "onChange">) {
  const { values, models } = overrides;
  const reset = (
    <Button color="inherit" onClick={() => onChange(NO_OVERRIDES)}>
      Reset
    </Button>
  );
  return (
    <Alert severity="info" variant="outlined" action={reset} sx={ALERT}>
      <Box sx={{ display: "flex", flexWrap: "wrap", alignItems: "center", gap: 1 }}>
        What if
        {values.map((one, at) => (
          <Chip
            key={`${one.column} ${one.id}`}
            label={`${one.column} = ${valueText(one.value)} for ${one.id ?? "all"}`}
            onDelete={() => onChange({ models, values: values.toSpliced(at, 1) })}
          />
        ))}
        {Object.entries(models).map(([model, version]) => (
          <Chip
            key={model}
            label={`${model} at version ${version}`}
            onDelete={() => onChange({ values, models: without(models, model) })}
          />
        ))}
      </Box>
    </Alert>
  );
}

const ALERT = {
  flexGrow: 1,
  minWidth: 0,
  maxWidth: "100%",
  py: 0,
  alignItems: "center",
  "& .MuiAlert-message": { minWidth: 0 },
} as const;

function without(models: Record<string, string>, model: string): Record<string, string> {
  return Object.fromEntries(Object.entries(models).filter(([name]) => name !== model));
}
