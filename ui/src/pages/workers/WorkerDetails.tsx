import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { DataTable, type Column } from "../../components/DataTable";
import { bytes, duration, number, percent } from "../../components/format";
import { StatusChip, type Tone } from "../../components/StatusChip";
import { useNow } from "../../components/useNow";
import type { Device, LoadedModel, Worker } from "../../api/workers";
import { isHeard, latency } from "./state";
import { LoadBar } from "./LoadBar";

/** What a worker last said of itself: totals, devices and the models it holds. */
export function WorkerDetails({ worker, children }: { worker: Worker; children?: ReactNode }) {
  const now = useNow();
  const { report } = worker;
  return (
    <Stack spacing={2}>
      {!isHeard(worker) && (
        <Typography color="error">
          Silent for {duration((now - worker.last_seen_ms) / 1000)}. What follows is what it said last; it is
          shown as online again as soon as it reports.
        </Typography>
      )}
      <Facts worker={worker} now_ms={now} />
      {children && <div>{children}</div>}
      {report.devices.map((device) => (
        <DeviceLine key={`${device.kind}${device.index}`} device={device} />
      ))}
      {report.models.length > 0 ? (
        <DataTable
          label={`Models on ${worker.worker_id}`}
          columns={MODEL_COLUMNS}
          rows={report.models}
          rowKey={({ model, version }) => `${model}@${version}`}
        />
      ) : (
        <Typography color="textSecondary">
          It holds no model: one is loaded when it is first asked for.
        </Typography>
      )}
    </Stack>
  );
}

const LATENCIES = ["latency_p50_ms", "latency_p95_ms", "latency_p99_ms"] as const;

function Facts({ worker, now_ms }: { worker: Worker; now_ms: number }) {
  const { report } = worker;
  const facts: [string, string][] = [
    ["CPU", percent(report.cpu_percent / 100)],
    ["Memory", bytes(report.memory_bytes)],
    ["p50 / p95 / p99", LATENCIES.map((which) => latency(report, which)).join(" / ")],
    ["Requests", number(report.requests)],
    ["Failures", number(report.failures)],
    ["Joined", `${duration((now_ms - worker.registered_ms) / 1000)} ago`],
    ["Software", worker.software_version],
    ...Object.entries(worker.labels),
  ];
  return (
    <Box sx={{ display: "flex", flexWrap: "wrap", columnGap: 4, rowGap: 1 }}>
      <Box sx={{ display: { md: "none" } }}>
        <LoadBar worker={worker} />
      </Box>
      {facts.map(([name, value]) => (
        <div key={name}>
          <Typography variant="caption" color="textSecondary" component="div">
            {name}
          </Typography>
          {value}
        </div>
      ))}
    </Box>
  );
}

function DeviceLine({ device }: { device: Device }) {
  return (
    <Typography>
      {device.kind === "cuda" ? "GPU" : device.kind} {device.index}: {device.name},{" "}
      {percent(device.utilisation)} busy, {bytes(device.memory_used_bytes)} of {bytes(device.memory_bytes)}
    </Typography>
  );
}

const TONES: Record<string, Tone> = { ready: "good", loading: "busy", unloading: "busy", failed: "bad" };

const MODEL_COLUMNS: Column<LoadedModel>[] = [
  {
    name: "model",
    header: "Model",
    cell: ({ model, version }) => (
      <Link to={`/models/${encodeURIComponent(model)}`}>
        {model} {version}
      </Link>
    ),
  },
  {
    name: "state",
    header: "State",
    cell: ({ state, reason }) => (
      <>
        <StatusChip tone={TONES[state] ?? "quiet"} label={state} /> {reason}
      </>
    ),
  },
  {
    name: "memory",
    header: "Memory",
    numeric: true,
    wideOnly: true,
    cell: ({ memory_bytes }) => bytes(memory_bytes),
  },
  {
    name: "requests",
    header: "Requests",
    numeric: true,
    wideOnly: true,
    cell: ({ requests }) => number(requests),
  },
  {
    name: "failures",
    header: "Failures",
    numeric: true,
    wideOnly: true,
    cell: ({ failures }) => number(failures),
  },
  {
    name: "p50",
    header: "p50",
    numeric: true,
    wideOnly: true,
    cell: (model) => latency(model, "latency_p50_ms"),
  },
  { name: "p99", header: "p99", numeric: true, cell: (model) => latency(model, "latency_p99_ms") },
];
