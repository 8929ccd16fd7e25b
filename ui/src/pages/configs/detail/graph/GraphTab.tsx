import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { configQueries, type ConfigStatus, type Plan } from "../../../../api/configs";
import { EmptyFace } from "../../../../components/faces";
import { PageState } from "../../../../components/PageState";
import { Drawing } from "./Drawing";
import { SplitLinks } from "./SplitLinks";
import { StepDrawer } from "./StepDrawer";

/** The graph of the plan that serves, or the configs a traffic split chooses from. */
export default function GraphTab({ id, status }: { id: string; status: ConfigStatus }) {
  if (status.split) return <SplitLinks split={status.split} />;
  if (status.state === "refused") {
    return (
      <EmptyFace
        title="Nothing serves under this id"
        text="Its text was refused. The problems are under Status; mend them under Text."
      />
    );
  }
  return <PlanGraph id={id} />;
}

function PlanGraph({ id }: { id: string }) {
  const plan = useQuery(configQueries.plan(id));
  return <PageState query={plan}>{(data) => <Picked plan={data} />}</PageState>;
}

function Picked({ plan }: { plan: Plan }) {
  const [query, setQuery] = useSearchParams();
  const name = query.get("step");
  const step = plan.nodes.find((node) => node.id === name);
  const pick = (next: string | null): void => setQuery(next ? { step: next } : {}, { replace: true });
  return (
    <>
      <Drawing plan={plan} picked={step?.id ?? null} onPick={pick} />
      <StepDrawer plan={plan} step={step} onPick={pick} onClose={() => pick(null)} />
    </>
  );
}
