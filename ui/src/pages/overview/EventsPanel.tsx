import Link from "@mui/material/Link";
import { Link as RouterLink } from "react-router";
import type { LiveEvent } from "../../api/types";
import { useLive } from "../../app/LiveProvider";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyFace } from "../../components/faces";
import { StatusChip } from "../../components/StatusChip";
import { Time } from "../../components/Time";
import { told } from "./events";
import { Panel } from "./Panel";

const SHOWN = 12;

/** What has happened lately, newest first. */
export function EventsPanel() {
  const events = useLive((state) => state.events);
  return (
    <Panel title="Recent events">
      {events.length === 0 ? (
        <EmptyFace
          title="Nothing has happened lately"
          text="Configs that go live or are refused, workers that come and go, uploads and keys appear here."
        />
      ) : (
        <DataTable
          label="Recent events"
          columns={COLUMNS}
          rows={events.slice(0, SHOWN)}
          rowKey={({ at_ms, kind, what }) => `${at_ms} ${kind} ${what}`}
        />
      )}
    </Panel>
  );
}

const COLUMNS: Column<LiveEvent>[] = [
  { name: "at", header: "When", cell: ({ at_ms }) => <Time at_ms={at_ms} /> },
  {
    name: "kind",
    header: "What",
    cell: (event) => {
      const { tone, label } = told(event);
      return <StatusChip tone={tone} label={label} />;
    },
  },
  {
    name: "what",
    header: "Of",
    cell: (event) => (
      <Link component={RouterLink} to={told(event).to} sx={{ overflowWrap: "anywhere" }}>
        {event.what}
      </Link>
    ),
  },
  { name: "detail", header: "Details", wideOnly: true, cell: ({ detail }) => detail },
];
