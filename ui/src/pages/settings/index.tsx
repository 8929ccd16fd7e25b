import FormControlLabel from "@mui/material/FormControlLabel";
import Stack from "@mui/material/Stack";
import Switch from "@mui/material/Switch";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import { useSearchParams } from "react-router";
import { EmptyFace } from "../../components/faces";
import { Page } from "../../components/Page";
import { PageState } from "../../components/PageState";
import { settingsQuery, type Setting } from "./api";
import { matching } from "./matching";
import { SettingsTable } from "./SettingsTable";

/** Every setting of the running server. They are read here, and changed in the environment or in inferflow.toml. */
export default function SettingsPage() {
  const query = useQuery(settingsQuery);
  return (
    <Page title="Settings">
      <PageState
        query={query}
        isEmpty={({ settings }) => settings.length === 0}
        empty={<EmptyFace title="This server reports no settings" command="inferflow settings" />}
      >
        {({ settings }) => <Searched settings={settings} />}
      </PageState>
    </Page>
  );
}

/** The filter is in the address, so that what was found can be linked to. */
function Searched({ settings }: { settings: Setting[] }) {
  const [search, setSearch] = useSearchParams();
  const text = search.get("filter") ?? "";
  const changedOnly = search.has("changed");
  const shown = matching(settings, useDeferredValue(text), changedOnly);
  const set = (name: string, value: string): void =>
    setSearch(
      (before) => {
        if (value) before.set(name, value);
        else before.delete(name);
        return before;
      },
      { replace: true },
    );
  return (
    <Stack spacing={2}>
      <Stack direction={{ xs: "column", sm: "row" }} spacing={2} sx={{ alignItems: { sm: "center" } }}>
        <TextField
          label="Filter"
          placeholder="name, meaning or variable"
          type="search"
          value={text}
          onChange={(event) => set("filter", event.target.value)}
          sx={{ minWidth: { sm: 320 } }}
        />
        <FormControlLabel
          control={
            <Switch
              size="small"
              checked={changedOnly}
              onChange={(_, on) => set("changed", on ? "yes" : "")}
            />
          }
          label="Only what is set"
        />
        <Typography color="textSecondary" role="status">
          {shown.length} of {settings.length}
        </Typography>
      </Stack>
      {shown.length > 0 ? (
        <SettingsTable settings={shown} />
      ) : (
        <EmptyFace title="No setting matches" text="Try a part of its name, such as port or kafka." />
      )}
    </Stack>
  );
}
