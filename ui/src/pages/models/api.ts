/** What the gateway knows of models, and what can be asked of it. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import type { Schema } from "../../api/types";

export type Model = Schema<"FleetModel">;
export type ModelVersion = Schema<"FleetModelVersion">;
export type Tensor = Schema<"TensorShape">;
export type StageChange = Schema<"StageMove">;
export type Stage = Schema<"PromoteBody">["stage"];

export const STAGES: readonly Stage[] = ["dev", "staging", "production", "archived"];

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => api.GET("/api/v1/models", { signal }).then(answered),
});

export const modelQuery = (name: string) =>
  queryOptions({
    queryKey: ["models", name],
    queryFn: ({ signal }) =>
      api.GET("/api/v1/models/{name}", { params: { path: { name } }, signal }).then(answered),
  });

/** A change to models: afterwards everything that is shown of them is asked for again. */
function useModelChange<Asked>(change: (asked: Asked) => Promise<unknown>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () => cache.invalidateQueries({ queryKey: ["models"] }),
  });
}

type Move = { version: string; stage: Stage; reason: string };

export const usePromote = (name: string) =>
  useModelChange(({ version, ...body }: Move) =>
    api.POST("/api/v1/models/{name}/versions/{version}/promote", {
      params: { path: { name, version } },
      body,
    }),
  );

/** With its last version a model is gone, and must not be asked for any more. */
export function useDeleteVersion({ name, versions }: Model) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (version: string) =>
      api.DELETE("/api/v1/models/{name}/versions/{version}", { params: { path: { name, version } } }),
    onSuccess: () => cache.invalidateQueries({ queryKey: ["models"], exact: versions.length === 1 }),
  });
}

export const useSetTraffic = (name: string) =>
  useModelChange((body: Record<string, number>) =>
    api.PUT("/api/v1/models/{name}/traffic", { params: { path: { name } }, body }),
  );
