import { useRouteError } from "react-router";
import { asProblem } from "../api/problem";
import { FailedFace } from "../components/faces";

/** A page that broke while it was drawn, or whose file is gone because a newer build is being served. */
export function RouteFailed() {
  const problem = asProblem(useRouteError());
  return (
    <FailedFace
      problem={{ ...problem, hint: problem.hint ?? "Loading the page again may help." }}
      retry={reload}
    />
  );
}

const reload = (): void => window.location.reload();
