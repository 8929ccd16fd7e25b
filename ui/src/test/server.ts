/** A gateway for tests. Each test says what it answers: `answer("/api/v1/workers", {workers: []})`. */
import { delay, http, HttpResponse, type JsonBodyType } from "msw";
import { setupServer } from "msw/node";
import { me } from "./fixtures/me";

type Method = "get" | "post" | "put" | "delete";

export const server = setupServer(http.get("*/api/v1/me", () => HttpResponse.json(me())));

export function answer(path: string, body: JsonBodyType, method: Method = "get"): void {
  server.use(http[method](`*${path}`, () => HttpResponse.json(body)));
}

export function refuse(
  path: string,
  status: number,
  problem: { title: string } & Record<string, unknown>,
  method: Method = "get",
): void {
  server.use(
    http[method](`*${path}`, () =>
      HttpResponse.json({ type: "about:blank", status, request_id: "r-1", ...problem }, { status }),
    ),
  );
}

/** Never answers: the loading face stays. */
export function hang(path: string, method: Method = "get"): void {
  server.use(http[method](`*${path}`, () => delay("infinite")));
}
