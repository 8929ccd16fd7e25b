import type { Worker } from "../../api/workers";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyFace } from "../../components/faces";
import { PageState } from "../../components/PageState";
import { StatusChip } from "../../components/StatusChip";
import { LoadBar } from "../workers/LoadBar";
import { isHeard, latency, shownState } from "../workers/state";
import { useWorkers } from "../workers/useWorkers";
import { Panel } from "./Panel";

/** The workers, how they stand and how busy they are. */
export function WorkersPanel() {
  return (
    <Panel title="Workers" to="/workers">
      <PageState
        query={useWorkers()}
        isEmpty={({ workers }) => workers.length === 0}
        empty={
          <EmptyFace
            title="No worker has joined yet"
            command="inferflow worker --manager HOST:50060 --key ifk_…"
          />
        }
      >
        {({ workers }) => (
          <DataTable label="Workers" columns={COLUMNS} rows={workers} rowKey={({ worker_id }) => worker_id} />
        )}
      </PageState>
    </Panel>
  );
}

const COLUMNS: Column<Worker>[] = [
  {
    name: "worker",
    header: "Worker",
    by: ({ worker_id }) => worker_id,
    cell: ({ worker_id }) => <strong>{worker_id}</strong>,
  },
  {
    name: "state",
    header: "State",
    by: ({ state }) => state,
    cell: (worker) => <StatusChip {...shownState(worker)} />,
  },
  { name: "load", header: "Load", cell: (worker) => <LoadBar worker={worker} /> },
  {
    name: "p99",
    header: "p99",
    numeric: true,
    wideOnly: true,
    cell: (worker) => (isHeard(worker) ? latency(worker.report, "latency_p99_ms") : "–"),
  },
];
