import Button from "@mui/material/Button";
import Tab from "@mui/material/Tab";
import Tabs from "@mui/material/Tabs";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link, useParams } from "react-router";
import { configQueries, type ConfigDocument } from "../../../api/configs";
import { LoadingFace } from "../../../components/faces";
import { Page } from "../../../components/Page";
import { PageState } from "../../../components/PageState";
import { StatusChip } from "../../../components/StatusChip";
import { stateChip } from "../state";
import { StatusTab } from "./StatusTab";

const GraphTab = lazy(() => import("./graph/GraphTab"));
const EditorTab = lazy(() => import("./editor/EditorTab"));
const VersionsTab = lazy(() => import("./versions/VersionsTab"));

const TABS = { graph: "Graph", text: "Text", versions: "Versions", status: "Status" } as const;
type TabName = keyof typeof TABS;

const isTab = (name: string | undefined): name is TabName => name !== undefined && name in TABS;

/** One config: its graph as it runs, its text to change, its versions, its problems. */
export default function ConfigPage() {
  const { id = "", tab } = useParams();
  const config = useQuery(configQueries.one(id));
  const open = isTab(tab) ? tab : "graph";
  const status = config.data?.status;
  return (
    <Page
      title={id}
      beside={status && <StatusChip {...stateChip(status)} />}
      actions={
        <Button component={Link} to={`/playground?config=${encodeURIComponent(id)}`} variant="outlined">
          Try it
        </Button>
      }
    >
      <Tabs
        value={open}
        aria-label="Views of the config"
        sx={{ mb: 2, borderBottom: 1, borderColor: "divider" }}
      >
        {Object.entries(TABS).map(([name, label]) => (
          <Tab
            key={name}
            value={name}
            component={Link}
            to={`/configs/${encodeURIComponent(id)}/${name}`}
            label={name === "status" && status?.errors ? `${label} (${status.errors})` : label}
          />
        ))}
      </Tabs>
      <PageState query={config}>
        {(document) => (
          <Suspense fallback={<LoadingFace />}>
            <Opened id={id} tab={open} document={document} />
          </Suspense>
        )}
      </PageState>
    </Page>
  );
}

function Opened({ id, tab, document }: { id: string; tab: TabName; document: ConfigDocument }) {
  switch (tab) {
    case "graph":
      return <GraphTab id={id} status={document.status} />;
    case "text":
      return <EditorTab key={id} id={id} live={document} />;
    case "versions":
      return <VersionsTab id={id} current={document.version} />;
    case "status":
      return <StatusTab status={document.status} />;
  }
}
