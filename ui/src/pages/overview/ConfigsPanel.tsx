import Link from "@mui/material/Link";
import { useQuery } from "@tanstack/react-query";
import { Link as RouterLink } from "react-router";
import { configQueries, type ConfigStatus } from "../../api/configs";
import type { ConfigMetrics } from "../../api/types";
import { useLive } from "../../app/LiveProvider";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyFace } from "../../components/faces";
import { milliseconds, number, percent } from "../../components/format";
import { PageState } from "../../components/PageState";
import { StatusChip } from "../../components/StatusChip";
import { stateChip } from "../configs/state";
import { Panel } from "./Panel";

/** Every config, how it stands and how it does. */
export function ConfigsPanel() {
  const query = useQuery(configQueries.list());
  const told = useLive((state) => state.latest?.configs);
  return (
    <Panel title="Model configs" to="/configs">
      <PageState
        query={query}
        isEmpty={({ configs }) => configs.length === 0}
        empty={
          <EmptyFace title="No config is served yet" command="inferflow config push configs/ranker.yaml" />
        }
      >
        {({ configs }) => (
          <DataTable
            label="Model configs"
            columns={COLUMNS}
            rows={configs.map((status) => ({ status, now: told?.[status.id] }))}
            rowKey={({ status }) => status.id}
          />
        )}
      </PageState>
    </Panel>
  );
}

type Row = { status: ConfigStatus; now: ConfigMetrics | undefined };

const COLUMNS: Column<Row>[] = [
  {
    name: "id",
    header: "Config",
    by: ({ status }) => status.id,
    cell: ({ status }) => (
      <Link component={RouterLink} to={`/configs/${encodeURIComponent(status.id)}`} sx={{ fontWeight: 600 }}>
        {status.id}
      </Link>
    ),
  },
  { name: "state", header: "State", cell: ({ status }) => <StatusChip {...stateChip(status)} /> },
  {
    name: "rate",
    header: "per s",
    numeric: true,
    by: ({ now }) => -(now?.rate ?? 0),
    cell: ({ now }) => number(now?.rate, 3),
  },
  { name: "p99", header: "p99", numeric: true, cell: ({ now }) => milliseconds(now?.p99_ms) },
  {
    name: "errors",
    header: "Errors",
    numeric: true,
    wideOnly: true,
    cell: ({ now }) => percent(now?.error_rate),
  },
];
