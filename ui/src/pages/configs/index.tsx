import Button from "@mui/material/Button";
import MuiLink from "@mui/material/Link";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";
import { configQueries, type ConfigStatus } from "../../api/configs";
import { useLive } from "../../app/LiveProvider";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyFace } from "../../components/faces";
import { milliseconds, number } from "../../components/format";
import { Page } from "../../components/Page";
import { PageState } from "../../components/PageState";
import { StatusChip } from "../../components/StatusChip";
import { Time } from "../../components/Time";
import { stateChip } from "./state";

/** Every config there is, how it stands, and what it does right now. */
export default function ConfigsPage() {
  const configs = useQuery(configQueries.list());
  const navigate = useNavigate();
  return (
    <Page
      title="Model configs"
      actions={
        <Button component={Link} to="/new-config" variant="outlined">
          New config
        </Button>
      }
    >
      <PageState
        query={configs}
        isEmpty={(data) => data.configs.length === 0}
        empty={
          <EmptyFace
            title="No configs yet"
            text="Write a first one, or push a file:"
            command="inferflow config push configs/ranker.yaml"
          />
        }
      >
        {(data) => (
          <DataTable
            label="Model configs"
            columns={COLUMNS}
            rows={data.configs}
            rowKey={(config) => config.id}
            onPick={(config) => void navigate(pathOf(config))}
          />
        )}
      </PageState>
    </Page>
  );
}

const pathOf = ({ id }: ConfigStatus): string => `/configs/${encodeURIComponent(id)}`;

const COLUMNS: Column<ConfigStatus>[] = [
  {
    name: "id",
    header: "Config",
    by: (config) => config.id,
    cell: (config) => (
      <MuiLink
        component={Link}
        to={pathOf(config)}
        onClick={(event) => event.stopPropagation()}
        sx={{ fontWeight: 600 }}
      >
        {config.id}
      </MuiLink>
    ),
  },
  {
    name: "state",
    header: "State",
    by: (config) => config.state,
    cell: (config) => <StatusChip {...stateChip(config)} />,
  },
  { name: "rate", header: "Requests/s", numeric: true, cell: ({ id }) => <Rate id={id} />, wideOnly: true },
  { name: "p99", header: "p99", numeric: true, cell: ({ id }) => <P99 id={id} /> },
  {
    name: "version",
    header: "Version",
    numeric: true,
    by: (config) => config.version,
    cell: versionOf,
    wideOnly: true,
  },
  { name: "author", header: "By", cell: (config) => config.author || "–", wideOnly: true },
  { name: "accepted", header: "Live since", by: (config) => config.accepted_ms, cell: since, wideOnly: true },
  {
    name: "problems",
    header: "Problems",
    numeric: true,
    by: (config) => config.errors,
    cell: (config) => config.errors || "–",
  },
];

function versionOf(config: ConfigStatus) {
  if (config.split) return `${Object.keys(config.split).length} arms`;
  return config.version || "–";
}

function since(config: ConfigStatus) {
  return config.accepted_ms ? <Time at_ms={config.accepted_ms} /> : "–";
}

function Rate({ id }: { id: string }) {
  return number(
    useLive((live) => live.latest?.configs[id]?.rate ?? null),
    3,
  );
}

function P99({ id }: { id: string }) {
  return milliseconds(useLive((live) => live.latest?.configs[id]?.p99_ms ?? null));
}
