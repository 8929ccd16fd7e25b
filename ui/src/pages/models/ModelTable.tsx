import Link from "@mui/material/Link";
import { Link as RouterLink } from "react-router";
import { DataTable, type Column } from "../../components/DataTable";
import { StatusChip } from "../../components/StatusChip";
import { Time } from "../../components/Time";
import type { Model, ModelVersion } from "./api";
import { TrafficBar } from "./TrafficBar";

/** One line per model; its versions are on a page of their own. */
export function ModelTable({ models }: { models: Model[] }) {
  return <DataTable label="Models" columns={COLUMNS} rows={models} rowKey={({ name }) => name} />;
}

const newest = ({ versions }: Model): ModelVersion | undefined =>
  versions.toSorted((a, b) => b.created_ms - a.created_ms)[0];

const holders = ({ versions }: Model): number => new Set(versions.flatMap(({ loaded_on }) => loaded_on)).size;

const inProduction = ({ versions }: Model): string | undefined =>
  versions.find(({ stage }) => stage === "production")?.version;

const COLUMNS: Column<Model>[] = [
  {
    name: "name",
    header: "Model",
    by: ({ name }) => name,
    cell: ({ name }) => (
      <Link component={RouterLink} to={`/models/${encodeURIComponent(name)}`} sx={{ fontWeight: 600 }}>
        {name}
      </Link>
    ),
  },
  {
    name: "production",
    header: "In production",
    cell: (model) => {
      const version = inProduction(model);
      return version ? (
        <StatusChip tone="good" label={`version ${version}`} />
      ) : (
        <StatusChip tone="quiet" label="none" />
      );
    },
  },
  { name: "traffic", header: "Traffic", wideOnly: true, cell: (model) => <TrafficBar model={model} /> },
  {
    name: "versions",
    header: "Versions",
    numeric: true,
    wideOnly: true,
    by: ({ versions }) => versions.length,
    cell: ({ versions }) => versions.length,
  },
  {
    name: "workers",
    header: "Workers",
    numeric: true,
    wideOnly: true,
    by: holders,
    cell: (model) => holders(model),
  },
  {
    name: "uploaded",
    header: "Last upload",
    wideOnly: true,
    by: (model) => -(newest(model)?.created_ms ?? 0),
    cell: (model) => <Time at_ms={newest(model)?.created_ms} />,
  },
  {
    name: "problem",
    header: "Health",
    cell: ({ versions }) =>
      versions.some(({ problem }) => problem) ? (
        <StatusChip tone="bad" label="problem" />
      ) : (
        <StatusChip tone="good" label="fine" />
      ),
  },
];
