import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Typography from "@mui/material/Typography";
import type { Theme } from "@mui/material/styles";
import useMediaQuery from "@mui/material/useMediaQuery";
import { useState, type MouseEvent } from "react";
import { useMay } from "../../api/me";
import { DataTable, type Column } from "../../components/DataTable";
import { bytes, percent } from "../../components/format";
import { StatusChip } from "../../components/StatusChip";
import { Time } from "../../components/Time";
import type { Worker } from "../../api/workers";
import { LoadBar } from "./LoadBar";
import { isHeard, latency, load, shownState } from "./state";
import { WorkerDetails } from "./WorkerDetails";

type Props = { workers: Worker[]; onDrain: (worker: Worker) => void };

/** One line per worker; a picked one shows its models and devices below. */
export function WorkerTable({ workers, onDrain }: Props) {
  const [picked, setPicked] = useState<string | null>(null);
  const mayDrain = useMay("admin");
  const isNarrow = useMediaQuery<Theme>((theme) => theme.breakpoints.down("md"));
  const hasGpu = workers.some(({ report }) => report.devices.length > 0);
  const columns = [...COLUMNS, ...(hasGpu ? [GPU] : []), ...(mayDrain ? [draining(onDrain)] : [])];
  return (
    <DataTable
      label="Workers"
      columns={columns}
      rows={workers}
      rowKey={(worker) => worker.worker_id}
      isPicked={(worker) => worker.worker_id === picked}
      onPick={({ worker_id }) => setPicked((before) => (before === worker_id ? null : worker_id))}
      below={(worker) =>
        worker.worker_id === picked && (
          <WorkerDetails worker={worker}>
            {mayDrain && isNarrow && <DrainButton worker={worker} onDrain={onDrain} />}
          </WorkerDetails>
        )
      }
    />
  );
}

const heard = (worker: Worker, text: string): string => (isHeard(worker) ? text : "–");

const COLUMNS: Column<Worker>[] = [
  {
    name: "worker",
    header: "Worker",
    by: (worker) => worker.worker_id,
    cell: (worker) => (
      <Box sx={{ whiteSpace: "nowrap" }}>
        <strong>{worker.worker_id}</strong>
        <Typography variant="caption" component="div" color="textSecondary" className="mono">
          {worker.address}
        </Typography>
      </Box>
    ),
  },
  {
    name: "state",
    header: "State",
    by: (worker) => worker.state,
    cell: (worker) => <StatusChip {...shownState(worker)} />,
  },
  {
    name: "seen",
    header: "Heartbeat",
    by: (worker) => -worker.last_seen_ms,
    cell: (worker) => <Time at_ms={worker.last_seen_ms} />,
  },
  { name: "load", header: "Load", by: load, wideOnly: true, cell: (worker) => <LoadBar worker={worker} /> },
  {
    name: "cpu",
    header: "CPU",
    numeric: true,
    wideOnly: true,
    by: (worker) => worker.report.cpu_percent,
    cell: (worker) => heard(worker, percent(worker.report.cpu_percent / 100)),
  },
  {
    name: "memory",
    header: "Memory",
    numeric: true,
    wideOnly: true,
    by: (worker) => worker.report.memory_bytes,
    cell: (worker) => heard(worker, bytes(worker.report.memory_bytes)),
  },
  {
    name: "p99",
    header: "p99",
    numeric: true,
    wideOnly: true,
    by: (worker) => worker.report.latency_p99_ms,
    cell: (worker) => heard(worker, latency(worker.report, "latency_p99_ms")),
  },
  {
    name: "models",
    header: "Models",
    numeric: true,
    wideOnly: true,
    by: (worker) => worker.report.models.length,
    cell: (worker) =>
      heard(worker, String(worker.report.models.filter(({ state }) => state === "ready").length)),
  },
];

const GPU: Column<Worker> = {
  name: "gpu",
  header: "GPU",
  numeric: true,
  wideOnly: true,
  cell: (worker) =>
    heard(worker, worker.report.devices.map(({ utilisation }) => percent(utilisation)).join(", ") || "–"),
};

const draining = (onDrain: Props["onDrain"]): Column<Worker> => ({
  name: "drain",
  header: "",
  wideOnly: true,
  cell: (worker) => <DrainButton worker={worker} onDrain={onDrain} />,
});

function DrainButton({ worker, onDrain }: { worker: Worker; onDrain: Props["onDrain"] }) {
  if (!isHeard(worker) || worker.state === "draining") return null;
  const ask = (event: MouseEvent): void => {
    event.stopPropagation();
    onDrain(worker);
  };
  return (
    <Button color="inherit" aria-label={`Drain ${worker.worker_id}`} onClick={ask}>
      Drain…
    </Button>
  );
}
