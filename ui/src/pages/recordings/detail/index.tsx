import Alert from "@mui/material/Alert";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useParams, useSearchParams } from "react-router";
import { recordingQueries, type RecordingDocument } from "../../../api/runs";
import { Facts } from "../../../components/Facts";
import { microseconds } from "../../../components/format";
import { Page } from "../../../components/Page";
import { PageState } from "../../../components/PageState";
import { Waterfall } from "../../../components/run/Waterfall";
import { StatusChip } from "../../../components/StatusChip";
import { Time } from "../../../components/Time";
import { becauseChip } from "../because";
import { ItemSearch } from "./ItemSearch";

/** One kept request: its steps over time, and on demand every column of one target. */
export default function RecordingPage() {
  const { recording = "" } = useParams();
  const [query] = useSearchParams();
  const item = query.get("item") ?? "";
  const found = useQuery({ ...recordingQueries.one(recording, item), placeholderData: keepPreviousData });
  return (
    <Page title={`Recording ${recording}`} beside={found.data && <StatusChip {...becauseChip(found.data)} />}>
      <PageState query={found}>{(document) => <Recorded document={document} item={item} />}</PageState>
    </Page>
  );
}

function Recorded({ document, item }: { document: RecordingDocument; item: string }) {
  const { run, error } = document;
  return (
    <Stack spacing={2}>
      {error && <Alert severity="error">{error}</Alert>}
      <Paper variant="outlined" sx={{ p: 2 }}>
        <Facts facts={factsOf(document)} />
      </Paper>
      <Paper variant="outlined" sx={{ p: 2 }}>
        <Typography variant="h2" gutterBottom>
          Steps
        </Typography>
        {run ? <Waterfall run={run} /> : <Typography color="textSecondary">Nothing was scored.</Typography>}
      </Paper>
      {document.has_values && <ItemSearch document={document} item={item} />}
    </Stack>
  );
}

function factsOf(one: RecordingDocument) {
  return [
    ["When", <Time at_ms={one.at_ms} />],
    ["Config", one.arm ? `${one.model_config_id}, arm ${one.arm}` : one.model_config_id || "–"],
    ["Plan", <code className="mono">{one.config_version || "–"}</code>],
    ["Called", <code className="mono">{one.method}</code>],
    ["Took", microseconds(one.duration_us)],
    ["Rows", one.rows],
    ["Tracking id", <code className="mono">{one.tracking_id || "–"}</code>],
    ["Request id", <code className="mono">{one.request_id || "–"}</code>],
  ] as const;
}
