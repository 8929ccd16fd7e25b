import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useSyncExternalStore, type ReactNode } from "react";
import type { LiveEvent } from "../api/types";
import type { LiveSocket, LiveState } from "./live";

const LiveContext = createContext<LiveSocket | null>(null);

/** What an event makes out of date: query keys, by the first word of its kind. */
const CONCERNS: Record<string, string[]> = {
  config: ["configs", "samples"],
  worker: ["workers", "models"],
  model: ["models", "workers"],
  key: ["keys", "audit"],
};

export function LiveProvider({ socket, children }: { socket: LiveSocket; children: ReactNode }) {
  const queries = useQueryClient();
  useEffect(() => {
    const refresh = ({ kind }: LiveEvent): void => {
      for (const concern of CONCERNS[kind.split("_")[0] ?? ""] ?? []) {
        void queries.invalidateQueries({ queryKey: [concern] });
      }
    };
    return socket.onEvent(refresh);
  }, [socket, queries]);
  return <LiveContext.Provider value={socket}>{children}</LiveContext.Provider>;
}

/** Select something that stays the same object while it has not changed, or a number or text. */
export function useLive<T>(select: (state: LiveState) => T): T {
  const socket = useContext(LiveContext);
  if (!socket) throw new Error("useLive needs a LiveProvider around it");
  return useSyncExternalStore(socket.subscribe, () => select(socket.state()));
}
