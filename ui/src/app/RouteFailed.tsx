import { useRouteError } from "react-router";
import { asProblem } from "../api/problem";
import { FailedFace } from "../components/faces";
import { Page } from "../components/Page";

/** A page that broke while it was drawn, or whose file is gone because a newer build is being served. */
export function RouteFailed() {
  const problem = asProblem(useRouteError());
  return (
    <Page title="This page could not be shown">
      <FailedFace
        problem={{ ...problem, hint: problem.hint ?? "Loading the page again may help." }}
        retry={reload}
      />
    </Page>
  );
}

const reload = (): void => window.location.reload();
