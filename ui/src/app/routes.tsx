/** Each page is a file of its own that is fetched when it is first opened. */
import Box from "@mui/material/Box";
import { lazy, Suspense, type ComponentType, type ReactNode } from "react";
import type { RouteObject } from "react-router";
import type { Part } from "../api/types";
import { LoadingFace } from "../components/faces";
import { INNER_PAGES, PAGES } from "./pages";
import { NotFound } from "./NotFound";
import { PartGate } from "./PartGate";
import { RouteFailed } from "./RouteFailed";
import { Shell } from "./Shell";

function opened(load: () => Promise<{ default: ComponentType }>, part?: Part): ReactNode {
  const Page = lazy(load);
  return (
    <PartGate part={part}>
      <Suspense fallback={<Waiting />}>
        <Page />
      </Suspense>
    </PartGate>
  );
}

const Waiting = () => (
  <Box sx={{ p: { xs: 2, md: 3 } }}>
    <LoadingFace />
  </Box>
);

const children: RouteObject[] = [...PAGES, ...INNER_PAGES].map(({ path, load, part }) => ({
  path,
  element: opened(load, part),
  errorElement: <RouteFailed />,
}));

export const routes: RouteObject[] = [
  {
    element: <Shell />,
    errorElement: <RouteFailed />,
    children: [...children, { path: "*", element: <NotFound /> }],
  },
];
