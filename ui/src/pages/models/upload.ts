/** Sends files and says how far it is. XMLHttpRequest, for `fetch` does not tell what has been sent. */
import { address, keyHeaders } from "../../api/client";
import { refuseKey } from "../../api/key";
import { ApiError, problemFrom } from "../../api/problem";
import type { ModelVersion } from "./api";

export interface UploadOrder {
  name: string;
  files: File[];
  version: string;
  stage: string;
}

/** Resolves with the new version. `progress` is told the share that was sent, from 0 to 1. */
export function uploadVersion(
  order: UploadOrder,
  progress: (share: number) => void,
  signal?: AbortSignal,
): Promise<ModelVersion> {
  const form = new FormData();
  if (order.version) form.set("version", order.version);
  form.set("stage", order.stage);
  for (const file of order.files) form.append("file", file, file.name);
  return send(
    address("/api/v1/models/{name}/versions", { path: { name: order.name } }),
    form,
    progress,
    signal,
  );
}

function send<T>(
  url: string,
  form: FormData,
  progress: (share: number) => void,
  signal?: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    for (const [name, value] of Object.entries(keyHeaders())) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onload = () => answered<T>(request).then(resolve, reject);
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new DOMException("The upload was cancelled", "AbortError"));
    signal?.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

async function answered<T>(request: XMLHttpRequest): Promise<T> {
  const response = new Response(request.responseText, {
    status: request.status,
    statusText: request.statusText,
  });
  if (response.ok) return (await response.json()) as T;
  if (response.status === 401) refuseKey();
  throw new ApiError(await problemFrom(response));
}

const unreachable = () =>
  new ApiError({
    status: 0,
    title: "The upload was cut off",
    detail: "The connection to the gateway ended before it had answered.",
    hint: "Upload again: nothing of it has become visible.",
  });
