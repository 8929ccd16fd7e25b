import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "react-router";
import { configQueries, type Version } from "../../../../api/configs";
import { EmptyFace } from "../../../../components/faces";
import { PageState } from "../../../../components/PageState";
import { Compare } from "./Compare";
import { RollBack } from "./RollBack";
import { VersionList } from "./VersionList";

/** Every version there was, the difference of any two, and a way back. */
export default function VersionsTab({ id, current }: { id: string; current: number }) {
  const history = useQuery(configQueries.history(id));
  return (
    <PageState
      query={history}
      isEmpty={(data) => data.versions.length === 0}
      empty={
        <EmptyFace
          title="No versions are kept for this config"
          text="Versions begin when it is published here, or from the command line:"
          command={`inferflow config push configs/${id}.yaml`}
        />
      }
    >
      {(data) => <Versions id={id} current={current} versions={data.versions} />}
    </PageState>
  );
}

function Versions({ id, current, versions }: { id: string; current: number; versions: Version[] }) {
  const [query, setQuery] = useSearchParams();
  const [target, setTarget] = useState<Version | null>(null);
  const newest = versions[0]?.number ?? 0;
  const to = Number(query.get("to")) || newest;
  const from = Number(query.get("from")) || versions.find(({ number }) => number < to)?.number || to;
  const compare = (next: { from: number; to: number }): void =>
    setQuery({ from: String(next.from), to: String(next.to) }, { replace: true });
  return (
    <Stack spacing={2}>
      <VersionList {...{ versions, from, to }} onCompare={compare} onRollBack={setTarget} />
      {versions.length > 1 ? (
        <Compare id={id} from={from} to={to} />
      ) : (
        <Typography color="textSecondary">
          There is nothing to compare yet: it is the only version.
        </Typography>
      )}
      <RollBack id={id} current={current} target={target} onClose={() => setTarget(null)} />
    </Stack>
  );
}
