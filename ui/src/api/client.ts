/** The one door to the gateway: typed by its OpenAPI document, adds the key, turns every failure into an ApiError.
 *
 * `api.GET("/api/v1/models/{name}", { params: { path: { name } }, signal }).then(answered)`
 */
import createClient, { type Middleware } from "openapi-fetch";
import { currentKey, refuseKey } from "./key";
import { ApiError, problemFrom } from "./problem";
import type { paths } from "./schema";

export function keyHeaders(): Record<string, string> {
  const key = currentKey();
  return key ? { authorization: `Bearer ${key}` } : {};
}

const door: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(keyHeaders())) request.headers.set(name, value);
    return request;
  },
  async onResponse({ response }) {
    if (response.status === 401) refuseKey();
    if (!response.ok) throw new ApiError(await problemFrom(response));
  },
  onError({ error, request }) {
    if (request.signal.aborted) return error instanceof Error ? error : undefined;
    return new ApiError({
      status: 0,
      title: "The gateway does not answer",
      detail: "No connection could be made. It may be starting, or stopped.",
      hint: "See whether `inferflow up` or `inferflow gateway` is still running.",
    });
  },
};

// Both are looked up when they are used: tests put their own gateway in place of fetch.
export const api = createClient<paths>({
  baseUrl: window.location.origin,
  fetch: (request) => globalThis.fetch(request),
});
api.use(door);

/** The body of an answer; a failure has been thrown before. */
export const answered = <T>({ data }: { data?: T }): T => data as T;

/** The address of a path with its places filled, for what does not go through `api`. */
export function address(path: string, { path: places }: { path: Record<string, string> }): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(places[name] ?? ""));
}
