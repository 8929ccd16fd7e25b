/** Every page of the navigation: where it is, what it is called, and which part it needs. The router and the
 * navigation are made from this table; a page's folder exports its component as default. */
import type { ComponentType } from "react";
import type { Part } from "../api/types";

type Loaded = Promise<{ default: ComponentType }>;

export type PageEntry = {
  path: string;
  label: string;
  icon: string;
  /** Without it the page says that this part does not run here. */
  part?: Part;
  load: () => Loaded;
};

export const PAGES: PageEntry[] = [
  { path: "/", label: "Overview", icon: "overview", load: () => import("../pages/overview") },
  {
    path: "/configs",
    label: "Model configs",
    icon: "configs",
    part: "configs",
    load: () => import("../pages/configs"),
  },
  {
    path: "/playground",
    label: "Playground",
    icon: "playground",
    part: "scoring",
    load: () => import("../pages/playground"),
  },
  {
    path: "/recordings",
    label: "Recordings",
    icon: "recordings",
    part: "scoring",
    load: () => import("../pages/recordings"),
  },
  { path: "/models", label: "Models", icon: "models", part: "fleet", load: () => import("../pages/models") },
  {
    path: "/workers",
    label: "Workers",
    icon: "workers",
    part: "fleet",
    load: () => import("../pages/workers"),
  },
  {
    path: "/features",
    label: "Features",
    icon: "features",
    part: "features",
    load: () => import("../pages/features"),
  },
  { path: "/logs", label: "Logs", icon: "logs", part: "logs", load: () => import("../pages/logs") },
  { path: "/keys", label: "Keys", icon: "keys", part: "fleet", load: () => import("../pages/keys") },
  { path: "/settings", label: "Settings", icon: "settings", load: () => import("../pages/settings") },
];

/** Pages that are reached from another one. Deeper paths of a page belong to its own folder. */
export const INNER_PAGES: { path: string; part?: Part; load: () => Loaded }[] = [
  { path: "/new-config", part: "configs", load: () => import("../pages/configs/create") },
  { path: "/configs/:id/:tab?", part: "configs", load: () => import("../pages/configs/detail") },
  { path: "/recordings/:recording", part: "scoring", load: () => import("../pages/recordings/detail") },
  { path: "/models/:name", part: "fleet", load: () => import("../pages/models/detail") },
];
