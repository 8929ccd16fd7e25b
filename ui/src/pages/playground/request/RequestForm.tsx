import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useState } from "react";
import type { ScoreRequest } from "../../../api/runs";
import { idsFrom, idsText, namesIn, valueAsTyped, valueFrom } from "./requestText";

type Props = { request: ScoreRequest; onChange: (request: ScoreRequest) => void };

/** A field for each entity and each value of the context. Fields start from the request they are first given: another
 * request needs another `key`. */
export function RequestForm({ request, onChange }: Props) {
  const entities = namesIn(request.entities);
  const context = namesIn(request.context);
  return (
    <Stack spacing={1.5}>
      {Object.entries(entities).map(([name, ids]) => (
        <TypedField
          key={name}
          label={name}
          helper="Ids, with commas"
          initial={idsText(ids)}
          onType={(text) => onChange({ ...request, entities: { ...entities, [name]: idsFrom(text, ids) } })}
        />
      ))}
      {Object.keys(context).length > 0 && <Typography variant="h3">Context</Typography>}
      {Object.entries(context).map(([name, value]) => (
        <TypedField
          key={name}
          label={name}
          initial={valueAsTyped(value)}
          onType={(text) => onChange({ ...request, context: { ...context, [name]: valueFrom(text) } })}
        />
      ))}
    </Stack>
  );
}

type FieldProps = { label: string; helper?: string; initial: string; onType: (text: string) => void };

/** Keeps what is typed as it is typed: "1, 2," is a list on its way to three. */
function TypedField({ label, helper, initial, onType }: FieldProps) {
  const [text, setText] = useState(initial);
  const type = (next: string): void => {
    setText(next);
    onType(next);
  };
  return (
    <TextField
      label={label}
      helperText={helper}
      value={text}
      multiline
      maxRows={5}
      onChange={(event) => type(event.target.value)}
    />
  );
}
