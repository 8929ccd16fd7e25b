import Alert from "@mui/material/Alert";
import AlertTitle from "@mui/material/AlertTitle";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import { Compare } from "../versions/Compare";

type Props = {
  id: string;
  base: number;
  current: number;
  onTakeOver: (version: number) => void;
  onDrop: () => void;
};

/** Somebody published meanwhile: what they changed, and the two ways on. */
export function Conflict({ id, base, current, onTakeOver, onDrop }: Props) {
  return (
    <Alert
      severity="warning"
      variant="outlined"
      sx={{ "& .MuiAlert-message": { minWidth: 0, width: "100%" } }}
    >
      <AlertTitle>Version {current} was published while you wrote</AlertTitle>
      <Stack spacing={1.5}>
        <span>You began from version {base}. This is what changed since:</span>
        <Compare id={id} from={base} to={current} />
        <Stack direction="row" spacing={1} useFlexGap sx={{ flexWrap: "wrap" }}>
          <Button color="inherit" variant="outlined" onClick={onDrop}>
            Begin again from version {current}
          </Button>
          <Button color="warning" variant="outlined" onClick={() => onTakeOver(current)}>
            Keep my text over version {current}
          </Button>
        </Stack>
      </Stack>
    </Alert>
  );
}
