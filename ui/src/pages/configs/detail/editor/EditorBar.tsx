import Button from "@mui/material/Button";
import Box from "@mui/material/Box";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useState } from "react";
import { useMay } from "../../../../api/me";
import type { Draft } from "./useDraft";

type Props = {
  draft: Draft;
  isFaulty: boolean;
  isChecking: boolean;
  isPublishing: boolean;
  onCheck: () => void;
  onPublish: (note: string) => void;
  onDrop: () => void;
};

/** What can be done with the text, and what it was begun from. */
export function EditorBar({ draft, isFaulty, isChecking, isPublishing, onCheck, onPublish, onDrop }: Props) {
  const [note, setNote] = useState("");
  const mayConfigure = useMay("configure");
  return (
    <Box sx={{ display: "flex", flexWrap: "wrap", alignItems: "center", gap: 1 }}>
      <Typography variant="body2" color="textSecondary">
        {standing(draft)}
      </Typography>
      <Box sx={{ flexGrow: 1 }} />
      <TextField
        label="Note for the history"
        value={note}
        onChange={(event) => setNote(event.target.value)}
        sx={{ width: { xs: "100%", sm: 240 } }}
      />
      <Button color="inherit" disabled={!draft.isChanged} onClick={onDrop}>
        Discard
      </Button>
      <Button variant="outlined" loading={isChecking} onClick={onCheck}>
        Check
      </Button>
      <Button
        variant="contained"
        loading={isPublishing}
        disabled={!isNews(draft) || isFaulty || !mayConfigure}
        onClick={() => onPublish(note)}
      >
        Publish
      </Button>
    </Box>
  );
}

/** A text to begin from is published as it is, too. */
const isNews = ({ isChanged, base }: Draft): boolean => isChanged || base === 0;

function standing({ isChanged, base }: Draft): string {
  if (base === 0) return "Not published yet";
  return isChanged ? `Changed, begun from version ${base}` : `Version ${base}, as it is live`;
}
