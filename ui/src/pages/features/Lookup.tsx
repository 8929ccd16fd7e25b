import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useMay } from "../../api/me";
import { PageState } from "../../components/PageState";
import { lookupQuery, type Entity } from "./api";
import { FoundRow } from "./FoundRow";
import { readKeys } from "./typedValues";
import { WriteDialog } from "./WriteDialog";

/** Asks the store for keys, and shows each with how fresh it is. */
export function Lookup({ entity }: { entity: Entity }) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState<string[][]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const [isWriting, setWriting] = useState(false);
  const mayWrite = useMay("configure");
  const query = useQuery({ ...lookupQuery(entity.name, asked), placeholderData: keepPreviousData });
  const look = (event: FormEvent): void => {
    event.preventDefault();
    const read = readKeys(text, entity.keys.length);
    setProblem(read.problem);
    if (read.problem) return;
    if (JSON.stringify(read.keys) === JSON.stringify(asked)) void query.refetch();
    setAsked(read.keys);
  };
  return (
    <Stack spacing={2}>
      <Stack component="form" spacing={1} onSubmit={look}>
        <TextField
          label={`Keys: ${entity.keys.join(", ")}`}
          multiline
          minRows={2}
          maxRows={8}
          value={text}
          error={problem !== null}
          helperText={problem ?? hint(entity)}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && look(event)}
        />
        <Stack direction="row" spacing={1}>
          <Button type="submit" variant="contained">
            Look up
          </Button>
          {mayWrite && <Button onClick={() => setWriting(true)}>Write values…</Button>}
        </Stack>
      </Stack>
      {asked.length > 0 && (
        <PageState query={query}>
          {({ rows }) =>
            rows.map((row) => <FoundRow key={row.key.join("\u0000")} row={row} entity={entity} />)
          }
        </PageState>
      )}
      {isWriting && (
        <WriteDialog
          entity={entity}
          onClose={() => setWriting(false)}
          onWritten={(key) => {
            setText(key.join(", "));
            setAsked([key]);
            void query.refetch();
          }}
        />
      )}
    </Stack>
  );
}

const hint = ({ keys }: Entity): string =>
  keys.length > 1 ? "One key per line, its parts separated by commas." : "One key per line.";
