import CssBaseline from "@mui/material/CssBaseline";
import { ThemeProvider } from "@mui/material/styles";
import { QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { createBrowserRouter, RouterProvider } from "react-router";
import { makeQueryClient } from "../api/queries";
import { liveSocket } from "./live";
import { LiveProvider } from "./LiveProvider";
import { NoticeProvider } from "./Notices";
import { routes } from "./routes";
import { theme } from "./theme";

/** Everything that surrounds every page. */
export function App() {
  const [queries] = useState(makeQueryClient);
  const [router] = useState(() => createBrowserRouter(routes));
  return (
    <ThemeProvider theme={theme} defaultMode="system" noSsr>
      <CssBaseline />
      <QueryClientProvider client={queries}>
        <LiveProvider socket={liveSocket}>
          <NoticeProvider>
            <RouterProvider router={router} />
          </NoticeProvider>
        </LiveProvider>
      </QueryClientProvider>
    </ThemeProvider>
  );
}
