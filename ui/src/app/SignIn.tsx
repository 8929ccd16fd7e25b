import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogContentText from "@mui/material/DialogContentText";
import DialogTitle from "@mui/material/DialogTitle";
import TextField from "@mui/material/TextField";
import { useQueryClient } from "@tanstack/react-query";
import { useState, useSyncExternalStore, type FormEvent } from "react";
import { currentKey, isKeyRefused, onKeyChange, setKey } from "../api/key";
import { CommandLine } from "../components/CommandLine";

/** Asks for an API key when the gateway has refused to answer without one. */
export function SignIn() {
  const refused = useSyncExternalStore(onKeyChange, isKeyRefused);
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const enter = (event: FormEvent): void => {
    event.preventDefault();
    setKey(text.trim());
    setText("");
    void queries.resetQueries();
  };
  return (
    <Dialog open={refused} maxWidth="xs" fullWidth aria-labelledby="sign-in-title">
      <form onSubmit={enter}>
        <DialogTitle id="sign-in-title">This gateway asks for a key</DialogTitle>
        <DialogContent>
          <DialogContentText sx={{ mb: 2 }}>
            {currentKey() ? "The key was not accepted. " : ""}It stays in this tab, and is forgotten when the
            page is loaded again.
          </DialogContentText>
          <TextField
            label="API key"
            type="password"
            autoComplete="off"
            autoFocus
            fullWidth
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <DialogContentText variant="body2" sx={{ mt: 2, mb: 1 }}>
            No key yet? An administrator makes one:
          </DialogContentText>
          <CommandLine command="inferflow keys create me --may view --may inference" />
        </DialogContent>
        <DialogActions>
          <Button type="submit" variant="contained" disabled={!text.trim()}>
            Use this key
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
