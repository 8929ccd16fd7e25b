import type { LiveMessage, Metrics } from "../api/types";
import { setKey } from "../api/key";
import { after, NOTHING_YET, openLive } from "./live";

const metrics = (at_ms: number): Metrics => ({
  type: "metrics",
  at_ms,
  overview: { rate: 1, errors_per_s: 0, p50_ms: 1, p95_ms: 1, p99_ms: 1, in_flight: 0 },
  configs: {},
});

test("history comes first and later seconds are added to it, for five minutes", () => {
  const begun = after(NOTHING_YET, {
    type: "history",
    metrics: [metrics(1_000), metrics(3_000)],
    events: [],
  });
  expect(begun.latest?.at_ms).toBe(3_000);
  const later = after(begun, metrics(302_000));
  expect(later.history.map(({ at_ms }) => at_ms)).toEqual([3_000, 302_000]);
  expect(later.link).toBe("live");
});

test("events that came before one connected are there, newest first", () => {
  const event = (at_ms: number) => ({
    type: "event" as const,
    at_ms,
    kind: "config_live",
    what: "ranker",
    detail: "",
  });
  const begun = after(NOTHING_YET, { type: "history", metrics: [], events: [event(1), event(2)] });
  expect(begun.events.map(({ at_ms }) => at_ms)).toEqual([2, 1]);
});

test("of events the newest hundred are kept, newest first", () => {
  let state = NOTHING_YET;
  for (let at_ms = 1; at_ms <= 130; at_ms++) {
    state = after(state, { type: "event", at_ms, kind: "config_live", what: "ranker", detail: "" });
  }
  expect(state.events).toHaveLength(100);
  expect(state.events[0]?.at_ms).toBe(130);
});

class SaidSocket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  sent: string[] = [];
  send(text: string): void {
    this.sent.push(text);
  }
  close(): void {
    this.onclose?.();
  }
  say(message: LiveMessage): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

function opened() {
  const sockets: SaidSocket[] = [];
  const pauses: number[] = [];
  const clock = { ms: 0 };
  let again: () => void = () => undefined;
  const live = openLive(
    () => {
      const socket = new SaidSocket();
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    (act, ms) => {
      pauses.push(ms);
      again = act;
    },
    () => clock.ms,
  );
  return { live, sockets, pauses, clock, again: () => again() };
}

test("a socket that is lost is opened again, after growing pauses until something is heard", () => {
  const { live, sockets, pauses, again } = opened();
  live.subscribe(() => undefined);
  sockets[0]?.close();
  expect(live.state().link).toBe("lost");
  again();
  sockets[1]?.close();
  again();
  sockets[2]?.say(metrics(1));
  sockets[2]?.close();
  expect(pauses).toEqual([500, 1_000, 500]);
  expect(live.state().latest?.at_ms).toBe(1);
});

test("nobody listening needs no socket", () => {
  const { live, sockets, pauses } = opened();
  const stop = live.subscribe(() => undefined);
  stop();
  expect(pauses).toEqual([]);
  live.subscribe(() => undefined);
  expect(sockets).toHaveLength(2);
});

test("with a key the first word is the key", () => {
  const { live, sockets } = opened();
  setKey("ifk_1");
  live.subscribe(() => undefined);
  sockets[0]?.onopen?.();
  expect(sockets[0]?.sent).toEqual([JSON.stringify({ type: "auth", key: "ifk_1" })]);
  setKey(null);
});

test("whoever listens for long says now and then that it is there", () => {
  const { live, sockets, clock } = opened();
  live.subscribe(() => undefined);
  for (clock.ms = 0; clock.ms <= 150_000; clock.ms += 1_000) sockets[0]?.say(metrics(clock.ms));
  expect(sockets[0]?.sent).toEqual(['{"type":"ping"}', '{"type":"ping"}']);
});
