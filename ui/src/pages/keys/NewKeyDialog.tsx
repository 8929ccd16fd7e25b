import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Checkbox from "@mui/material/Checkbox";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import FormControlLabel from "@mui/material/FormControlLabel";
import Stack from "@mui/material/Stack";
import { useState } from "react";
import { CopyButton } from "../../components/CopyButton";
import type { NewKey } from "./api";

/** The key itself, for the only time. It closes once somebody says that it is stored, and not by accident. */
export function NewKeyDialog({ made, onStored }: { made: NewKey; onStored: () => void }) {
  const [isStored, setStored] = useState(false);
  return (
    <Dialog open maxWidth="sm" fullWidth aria-labelledby="new-key-title">
      <DialogTitle id="new-key-title">The key of {made.key.name}</DialogTitle>
      <DialogContent>
        <Stack spacing={2}>
          <Alert severity="warning" variant="outlined">
            Only its digest is kept. Copy it now: it is never shown again.
          </Alert>
          <Box
            sx={{
              display: "flex",
              alignItems: "center",
              gap: 1,
              p: 1.5,
              borderRadius: 1,
              bgcolor: "action.hover",
            }}
          >
            <Box component="code" className="mono" sx={{ flexGrow: 1, overflowWrap: "anywhere" }}>
              {made.text}
            </Box>
            <CopyButton text={made.text} label="Copy the key" />
          </Box>
          <FormControlLabel
            control={<Checkbox checked={isStored} onChange={(_, on) => setStored(on)} />}
            label="I have stored it"
          />
        </Stack>
      </DialogContent>
      <DialogActions>
        <Button variant="contained" disabled={!isStored} onClick={onStored}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
