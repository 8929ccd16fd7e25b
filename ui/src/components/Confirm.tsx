import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import type { ReactNode } from "react";

type Props = {
  open: boolean;
  title: string;
  /** What will happen, in words. */
  children: ReactNode;
  /** The verb on the button: Delete, Roll back. */
  verb: string;
  dangerous?: boolean;
  busy?: boolean;
  disabled?: boolean;
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before something that others will notice. */
export function Confirm({
  open,
  title,
  children,
  verb,
  dangerous,
  busy,
  disabled,
  onConfirm,
  onClose,
}: Props) {
  return (
    <Dialog open={open} onClose={onClose} maxWidth="sm" fullWidth aria-labelledby="confirm-title">
      <DialogTitle id="confirm-title">{title}</DialogTitle>
      <DialogContent>{children}</DialogContent>
      <DialogActions>
        <Button onClick={onClose} color="inherit">
          Cancel
        </Button>
        <Button
          onClick={onConfirm}
          variant="contained"
          color={dangerous ? "error" : "primary"}
          loading={busy}
          disabled={disabled}
        >
          {verb}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
