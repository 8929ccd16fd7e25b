import Button from "@mui/material/Button";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useState, type FormEvent } from "react";
import { useSearchParams } from "react-router";
import type { RecordingDocument } from "../../../api/runs";
import { ItemTable } from "../../../components/run/ItemTable";

/** Asks for one target of a recording that kept its values. */
export function ItemSearch({ document, item }: { document: RecordingDocument; item: string }) {
  const [, setQuery] = useSearchParams();
  const [text, setText] = useState(item);
  const look = (event: FormEvent): void => {
    event.preventDefault();
    setQuery(text.trim() ? { item: text.trim() } : {});
  };
  return (
    <Paper variant="outlined" sx={{ p: 2 }}>
      <Typography variant="h2" gutterBottom>
        Why one of them scored what it did
      </Typography>
      <Stack component="form" direction="row" spacing={1} onSubmit={look} sx={{ mb: 2 }}>
        <TextField label="Id of a target" value={text} onChange={(event) => setText(event.target.value)} />
        <Button type="submit" variant="outlined">
          Show
        </Button>
      </Stack>
      {document.item?.rows.map((row) => (
        <ItemTable key={row.row} row={row} />
      ))}
    </Paper>
  );
}
