import EditIcon from "@mui/icons-material/EditOutlined";
import Button from "@mui/material/Button";
import Checkbox from "@mui/material/Checkbox";
import FormControlLabel from "@mui/material/FormControlLabel";
import IconButton from "@mui/material/IconButton";
import Popover from "@mui/material/Popover";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { useState, type FormEvent } from "react";
import type { ItemColumn, Value } from "../../../api/runs";
import { valueAsTyped, valueFrom } from "../request/requestText";

type Props = { column: ItemColumn; onSet: (value: Value, forAll: boolean) => void };

/** Another value for one column, for this target or for all. */
export function ValueEdit({ column, onSet }: Props) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const [text, setText] = useState("");
  const [forAll, setForAll] = useState(false);
  const close = (): void => setAnchor(null);
  const open = (button: HTMLElement): void => {
    setText(valueAsTyped(column.value));
    setAnchor(button);
  };
  const apply = (event: FormEvent): void => {
    event.preventDefault();
    onSet(valueFor(column, text), forAll);
    close();
  };
  const label = `What if ${column.column} were different`;
  return (
    <>
      <IconButton size="small" aria-label={label} onClick={(event) => open(event.currentTarget)}>
        <EditIcon fontSize="inherit" />
      </IconButton>
      <Popover
        open={anchor !== null}
        anchorEl={anchor}
        onClose={close}
        slotProps={{ paper: { "aria-label": label } }}
      >
        <Stack component="form" onSubmit={apply} spacing={1} sx={{ p: 2, width: 280 }}>
          <TextField
            autoFocus
            label={column.column}
            helperText={column.dtype}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <FormControlLabel
            control={
              <Checkbox size="small" checked={forAll} onChange={(event) => setForAll(event.target.checked)} />
            }
            label="For all targets"
          />
          <Button type="submit" variant="contained">
            Score with this
          </Button>
        </Stack>
      </Popover>
    </>
  );
}

/** A text column keeps "7" as a text. */
const valueFor = ({ dtype }: ItemColumn, text: string): Value =>
  dtype === "String" ? text : valueFrom(text);
