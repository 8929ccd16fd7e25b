/** What the gateway knows of workers. It is asked once; after that the live socket keeps it fresh. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { answered, api } from "./client";
import type { Schema } from "./types";

export type Worker = Schema<"FleetWorker">;
export type LoadedModel = Schema<"LoadedModel">;
export type Device = Schema<"Device">;

export const workersQuery = queryOptions({
  queryKey: ["workers"],
  queryFn: ({ signal }) => api.GET("/api/v1/workers", { signal }).then(answered),
});

export function useDrain() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (worker_id: string) =>
      api.POST("/api/v1/workers/{worker_id}/drain", { params: { path: { worker_id } } }),
    onSuccess: () => cache.invalidateQueries({ queryKey: ["workers"] }),
  });
}
