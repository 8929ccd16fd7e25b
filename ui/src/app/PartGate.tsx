import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useLocation } from "react-router";
import { meQuery } from "../api/me";
import type { Part } from "../api/types";
import { EmptyFace } from "../components/faces";
import { Page } from "../components/Page";
import { PAGES } from "./pages";

const HOW: Record<Part, { title: string; command: string }> = {
  fleet: {
    title: "No fleet runs behind this gateway",
    command: "INFERFLOW_FLEET_ENABLED=true inferflow up",
  },
  features: { title: "This gateway has no feature store", command: "inferflow up" },
  logs: { title: "This gateway reads no inference log", command: "inferflow up" },
  configs: { title: "This gateway has no configs to look after", command: "inferflow up" },
  models: { title: "This gateway forwards to no model server", command: "inferflow worker" },
  scoring: { title: "This gateway does not score", command: "inferflow up" },
};

const isAt = (path: string, page: string): boolean => path === page || path.startsWith(`${page}/`);

/** Says so, instead of a page of errors, when what a page is about does not run here. */
export function PartGate({ part, children }: { part?: Part; children: ReactNode }) {
  const { data } = useQuery(meQuery);
  const { pathname } = useLocation();
  if (part && data && !data.parts[part]) {
    const { title, command } = HOW[part];
    return (
      <Page title={PAGES.find((page) => isAt(pathname, page.path))?.label ?? title}>
        <EmptyFace title={title} text="Start everything at once, in a project folder:" command={command} />
      </Page>
    );
  }
  return children;
}
