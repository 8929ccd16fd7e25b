/** Draws a page as the app does: theme, answers, a live socket that the test speaks for, and an address. */
import { ThemeProvider } from "@mui/material/styles";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, render, type RenderResult } from "@testing-library/react";
import type { ReactElement } from "react";
import { createMemoryRouter, RouterProvider } from "react-router";
import type { LiveEvent, LiveMessage } from "../api/types";
import { LiveProvider } from "../app/LiveProvider";
import { after, NOTHING_YET, type LiveSocket } from "../app/live";
import { NoticeProvider } from "../app/Notices";
import { theme } from "../app/theme";

export type Drawn = RenderResult & {
  /** The gateway says something over the live socket. */
  hear: (message: LiveMessage) => void;
  /** The address that is open now. */
  address: () => string;
};

type Where = {
  /** The route's pattern, where the page reads parameters from it. */ path?: string;
  at?: string;
};

export function draw(page: ReactElement, { path = "*", at = "/" }: Where = {}): Drawn {
  const queries = new QueryClient({
    defaultOptions: { queries: { retry: false }, mutations: { retry: false } },
  });
  const live = spokenSocket();
  const router = createMemoryRouter(
    [
      { path, element: page },
      { path: "*", element: null },
    ],
    { initialEntries: [at] },
  );
  const drawn = render(
    <ThemeProvider theme={theme}>
      <QueryClientProvider client={queries}>
        <LiveProvider socket={live.socket}>
          <NoticeProvider>
            <RouterProvider router={router} />
          </NoticeProvider>
        </LiveProvider>
      </QueryClientProvider>
    </ThemeProvider>,
  );
  const address = (): string => router.state.location.pathname + router.state.location.search;
  return { ...drawn, address, hear: (message) => act(() => live.hear(message)) };
}

function spokenSocket(): { socket: LiveSocket; hear: (message: LiveMessage) => void } {
  let state = NOTHING_YET;
  const listeners = new Set<() => void>();
  const eventListeners = new Set<(event: LiveEvent) => void>();
  const kept = <T,>(set: Set<T>, one: T): (() => void) => {
    set.add(one);
    return () => void set.delete(one);
  };
  return {
    socket: {
      state: () => state,
      subscribe: (listener) => kept(listeners, listener),
      onEvent: (listener) => kept(eventListeners, listener),
    },
    hear: (message) => {
      state = after(state, message);
      for (const listener of listeners) listener();
      if (message.type === "event") for (const listener of eventListeners) listener(message);
    },
  };
}
