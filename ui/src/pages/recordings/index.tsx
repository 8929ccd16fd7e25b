import MuiLink from "@mui/material/Link";
import ToggleButton from "@mui/material/ToggleButton";
import ToggleButtonGroup from "@mui/material/ToggleButtonGroup";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearchParams } from "react-router";
import { recordingQueries, type Recording } from "../../api/runs";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyFace } from "../../components/faces";
import { microseconds } from "../../components/format";
import { Page } from "../../components/Page";
import { PageState } from "../../components/PageState";
import { StatusChip } from "../../components/StatusChip";
import { Time } from "../../components/Time";
import { BECAUSE, becauseChip } from "./because";

const LAST = 200;
const REFRESH_MS = 5_000;

/** Requests that servers kept for a second look: slow ones, failed ones, those that asked for it. */
export default function RecordingsPage() {
  const recordings = useQuery({ ...recordingQueries.list(LAST), refetchInterval: REFRESH_MS });
  return (
    <Page title="Recordings">
      <PageState
        query={recordings}
        isEmpty={(data) => data.recordings.length === 0}
        empty={
          <EmptyFace
            title="Nothing kept yet"
            text="Failed and slow requests are kept by themselves. To keep one on purpose, ask for it:"
            command="inferflow explain ranker --request requests/ranker.json --target 127.0.0.1:50051"
          />
        }
      >
        {(data) => <Filtered recordings={data.recordings} />}
      </PageState>
    </Page>
  );
}

function Filtered({ recordings }: { recordings: Recording[] }) {
  const [query, setQuery] = useSearchParams();
  const navigate = useNavigate();
  const because = query.get("because");
  const config = query.get("config") ?? "";
  const narrow = (name: string, value: string): void => {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    setQuery(next, { replace: true });
  };
  const rows = recordings.filter(
    (one) => (!because || one.kept_because === because) && one.model_config_id.includes(config),
  );
  return (
    <Stack spacing={2}>
      <Stack direction="row" spacing={2} useFlexGap sx={{ flexWrap: "wrap", alignItems: "center" }}>
        <ToggleButtonGroup
          exclusive
          size="small"
          value={because ?? ""}
          onChange={(_, value: string | null) => narrow("because", value ?? "")}
          aria-label="Kept because"
        >
          <ToggleButton value="">all</ToggleButton>
          {Object.keys(BECAUSE).map((name) => (
            <ToggleButton key={name} value={name}>
              {name}
            </ToggleButton>
          ))}
        </ToggleButtonGroup>
        <TextField label="Config" value={config} onChange={(event) => narrow("config", event.target.value)} />
      </Stack>
      {rows.length ? (
        <DataTable
          label="Recordings"
          columns={COLUMNS}
          rows={rows}
          rowKey={(one) => one.recording}
          onPick={(one) => void navigate(pathOf(one))}
        />
      ) : (
        <Typography color="textSecondary">None of the {recordings.length} recordings fit.</Typography>
      )}
    </Stack>
  );
}

const pathOf = ({ recording }: Recording): string => `/recordings/${encodeURIComponent(recording)}`;

const COLUMNS: Column<Recording>[] = [
  { name: "at", header: "When", by: (one) => one.at_ms, cell: (one) => <Time at_ms={one.at_ms} /> },
  { name: "because", header: "Kept", cell: (one) => <StatusChip {...becauseChip(one)} /> },
  {
    name: "config",
    header: "Config",
    by: (one) => one.model_config_id,
    cell: (one) => (
      <MuiLink component={Link} to={pathOf(one)} onClick={(event) => event.stopPropagation()}>
        {one.model_config_id || one.method}
      </MuiLink>
    ),
  },
  {
    name: "took",
    header: "Took",
    numeric: true,
    by: (one) => one.duration_us,
    cell: (one) => microseconds(one.duration_us),
  },
  {
    name: "rows",
    header: "Rows",
    numeric: true,
    by: (one) => one.rows,
    cell: (one) => one.rows,
    wideOnly: true,
  },
  { name: "longest", header: "Longest step", cell: (one) => one.longest_step || "–", wideOnly: true },
  {
    name: "tracking",
    header: "Tracking id",
    cell: (one) => <code className="mono">{one.tracking_id || "–"}</code>,
    wideOnly: true,
  },
  { name: "error", header: "Error", cell: (one) => one.error || "–", wideOnly: true },
];
