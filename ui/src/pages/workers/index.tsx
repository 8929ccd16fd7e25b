import { useState } from "react";
import { EmptyFace } from "../../components/faces";
import { Page } from "../../components/Page";
import { PageState } from "../../components/PageState";
import { StatusChip } from "../../components/StatusChip";
import type { Worker } from "../../api/workers";
import { DrainDialog } from "./DrainDialog";
import { shownState } from "./state";
import { useWorkers } from "./useWorkers";
import { WorkerTable } from "./WorkerTable";

/** The workers of the fleet, as they are now. */
export default function WorkersPage() {
  const query = useWorkers();
  const [leaving, setLeaving] = useState<Worker | null>(null);
  return (
    <Page title="Workers" beside={<Counts workers={query.data?.workers ?? []} />}>
      <PageState
        query={query}
        isEmpty={({ workers }) => workers.length === 0}
        empty={
          <EmptyFace
            title="No worker has joined yet"
            text="Start one with the manager's address and a key that may work:"
            command="inferflow worker --manager HOST:50060 --key ifk_…"
          />
        }
      >
        {({ workers }) => <WorkerTable workers={workers} onDrain={setLeaving} />}
      </PageState>
      {leaving && <DrainDialog worker={leaving} onClose={() => setLeaving(null)} />}
    </Page>
  );
}

/** How many are in each state, in the order they are met. */
function Counts({ workers }: { workers: Worker[] }) {
  const shown = workers.map(shownState);
  const labels = [...new Set(shown.map(({ label }) => label))];
  return labels.map((label) => {
    const alike = shown.filter((each) => each.label === label);
    return <StatusChip key={label} tone={alike[0]?.tone ?? "quiet"} label={`${alike.length} ${label}`} />;
  });
}
