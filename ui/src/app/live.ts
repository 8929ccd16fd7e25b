/** What the gateway tells every second, kept for whoever draws it.
 *
 * One socket per tab. It reconnects by itself, with growing pauses; what was drawn stays until news come. A subscriber
 * is told of every message; `useLive(select)` draws again only when what it selected has changed. It says now and then
 * that it is there, for the gateway leaves those who say nothing.
 */
import { currentKey, onKeyChange } from "../api/key";
import type { LiveEvent, LiveMessage, Metrics } from "../api/types";

export type LiveState = {
  link: "connecting" | "live" | "lost";
  latest: Metrics | null;
  /** Oldest first, at most five minutes. */
  history: readonly Metrics[];
  /** Newest first, at most 100. */
  events: readonly LiveEvent[];
};

export type LiveSocket = {
  state: () => LiveState;
  subscribe: (listener: () => void) => () => void;
  onEvent: (listener: (event: LiveEvent) => void) => () => void;
};

const KEPT_MS = 5 * 60 * 1000;
const KEPT_EVENTS = 100;
const SAY_EVERY_MS = 60 * 1000;
const PING = JSON.stringify({ type: "ping" });
const PAUSES_MS = [500, 1_000, 2_000, 5_000, 10_000];

export const NOTHING_YET: LiveState = { link: "connecting", latest: null, history: [], events: [] };

/** The state after a message; pure, so that it can be checked without a socket. */
export function after(state: LiveState, message: LiveMessage): LiveState {
  if (message.type === "history") {
    const { metrics, events = [] } = message;
    return {
      link: "live",
      history: metrics,
      latest: metrics.at(-1) ?? state.latest,
      events: events.toReversed(),
    };
  }
  if (message.type === "metrics") {
    const kept = state.history.filter(
      (one) => one.at_ms > message.at_ms - KEPT_MS && one.at_ms < message.at_ms,
    );
    return { ...state, link: "live", latest: message, history: [...kept, message] };
  }
  return { ...state, link: "live", events: [message, ...state.events].slice(0, KEPT_EVENTS) };
}

export function openLive(
  open: () => WebSocket,
  later: (act: () => void, ms: number) => void,
  now: () => number = Date.now,
): LiveSocket {
  let state = NOTHING_YET;
  let socket: WebSocket | null = null;
  let failures = 0;
  const listeners = new Set<() => void>();
  const eventListeners = new Set<(event: LiveEvent) => void>();

  const become = (next: LiveState): void => {
    state = next;
    for (const listener of listeners) listener();
  };

  const hear = (message: LiveMessage): void => {
    become(after(state, message));
    if (message.type === "event") for (const listener of eventListeners) listener(message);
  };

  const connect = (): void => {
    if (listeners.size === 0) return;
    const opening = open();
    let saidAt = now();
    socket = opening;
    opening.onopen = () => {
      const key = currentKey();
      if (key) opening.send(JSON.stringify({ type: "auth", key }));
    };
    opening.onmessage = ({ data }) => {
      failures = 0;
      if (now() - saidAt > SAY_EVERY_MS) {
        opening.send(PING);
        saidAt = now();
      }
      hear(JSON.parse(String(data)) as LiveMessage);
    };
    opening.onclose = () => {
      if (socket !== opening) return;
      socket = null;
      become({ ...state, link: "lost" });
      later(connect, PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)] ?? 0);
    };
  };

  const close = (): void => {
    const closing = socket;
    socket = null;
    closing?.close();
  };

  onKeyChange(() => {
    if (!socket || !currentKey()) return;
    close();
    connect();
  });

  return {
    state: () => state,
    subscribe: (listener) => {
      listeners.add(listener);
      if (!socket && listeners.size === 1) connect();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) close();
      };
    },
    onEvent: (listener) => {
      eventListeners.add(listener);
      return () => void eventListeners.delete(listener);
    },
  };
}

export const liveSocket: LiveSocket = openLive(
  () => new WebSocket(`${window.location.origin.replace(/^http/, "ws")}/api/v1/live`),
  (act, ms) => window.setTimeout(act, ms),
);
