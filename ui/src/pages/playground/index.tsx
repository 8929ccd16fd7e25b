import MenuItem from "@mui/material/MenuItem";
import TextField from "@mui/material/TextField";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { configQueries, type ConfigStatus } from "../../api/configs";
import { meQuery, useMay } from "../../api/me";
import { EmptyFace } from "../../components/faces";
import { Page } from "../../components/Page";
import { PageState } from "../../components/PageState";
import { Bench } from "./Bench";

/** Score a real request, see how the answer came about, and what would change it. Nothing is stored. */
export default function PlaygroundPage() {
  const configs = useQuery(configQueries.list());
  const { isPending } = useQuery(meQuery);
  const mayScore = useMay("inference") || isPending;
  const [query, setQuery] = useSearchParams();
  const serving = configs.data?.configs.filter(({ state }) => state !== "refused") ?? [];
  const config = query.get("config") ?? serving[0]?.id ?? "";
  return (
    <Page
      title="Playground"
      actions={
        serving.length > 0 && (
          <ConfigChoice configs={serving} chosen={config} onChoose={(id) => setQuery({ config: id })} />
        )
      }
    >
      <PageState
        query={configs}
        isEmpty={() => serving.length === 0}
        empty={
          <EmptyFace
            title="No config serves yet"
            text="Make a project with one that does:"
            command="inferflow init my-project"
          />
        }
      >
        {() => (mayScore ? <Bench key={config} config={config} /> : <MayNotScore />)}
      </PageState>
    </Page>
  );
}

const MayNotScore = () => (
  <EmptyFace
    title="Your key may not score"
    text="The playground needs the permission inference beside view. Ask an administrator for a key with both."
  />
);

type ChoiceProps = { configs: ConfigStatus[]; chosen: string; onChoose: (id: string) => void };

function ConfigChoice({ configs, chosen, onChoose }: ChoiceProps) {
  const isKnown = configs.some(({ id }) => id === chosen);
  return (
    <TextField
      select
      label="Config"
      value={isKnown ? chosen : ""}
      onChange={(event) => onChoose(event.target.value)}
      sx={{ minWidth: 200 }}
    >
      {configs.map(({ id }) => (
        <MenuItem key={id} value={id}>
          {id}
        </MenuItem>
      ))}
    </TextField>
  );
}
