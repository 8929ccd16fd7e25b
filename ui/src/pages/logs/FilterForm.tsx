import Button from "@mui/material/Button";
import MenuItem from "@mui/material/MenuItem";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { useState, type FormEvent } from "react";
import type { LogFilters } from "./filters";

const WITHIN: [string, string][] = [
  ["", "all time"],
  ["15", "15 minutes"],
  ["60", "an hour"],
  ["1440", "a day"],
  ["10080", "a week"],
];

const NOTHING: LogFilters = { config: "", tracking_id: "", user: "", within: "" };

type Props = { filters: LogFilters; onFilter: (filters: LogFilters) => void };

/** What to look for. Nothing is asked until it is sent, for a log may be long. */
export function FilterForm({ filters, onFilter }: Props) {
  const [typed, setTyped] = useState(filters);
  const send = (event: FormEvent): void => {
    event.preventDefault();
    onFilter(typed);
  };
  const clear = (): void => {
    setTyped(NOTHING);
    onFilter(NOTHING);
  };
  const field = (name: "config" | "tracking_id" | "user", label: string) => (
    <TextField
      label={label}
      value={typed[name]}
      onChange={(event) => setTyped({ ...typed, [name]: event.target.value })}
    />
  );
  return (
    <Stack
      component="form"
      role="search"
      direction={{ xs: "column", md: "row" }}
      spacing={1}
      onSubmit={send}
      sx={{ alignItems: { md: "center" } }}
    >
      {field("config", "Config")}
      {field("tracking_id", "Tracking id")}
      {field("user", "User")}
      <TextField
        select
        label="Within"
        value={typed.within}
        onChange={(event) => setTyped({ ...typed, within: event.target.value })}
        sx={{ minWidth: 130 }}
        slotProps={{ select: { displayEmpty: true }, inputLabel: { shrink: true } }}
      >
        {WITHIN.map(([minutes, label]) => (
          <MenuItem key={minutes} value={minutes}>
            {label}
          </MenuItem>
        ))}
      </TextField>
      <Button type="submit" variant="contained">
        Search
      </Button>
      <Button onClick={clear}>Clear</Button>
    </Stack>
  );
}
