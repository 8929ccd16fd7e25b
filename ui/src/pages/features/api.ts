/** What the gateway knows of features: their schema, and the values of keys. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import type { Schema } from "../../api/types";
import type { FeatureValue } from "./typedValues";

export type Feature = Schema<"FeatureField">;
export type FeatureGroup = Schema<"FeatureGroup">;
export type Entity = Schema<"FeatureEntity">;
export type GroupRow = Schema<"FoundGroup">;
export type FeatureRow = Schema<"FoundRow">;

export const schemaQuery = queryOptions({
  queryKey: ["features"],
  queryFn: ({ signal }) => api.GET("/api/v1/features", { signal }).then(answered),
});

export const lookupQuery = (entity: string, keys: string[][]) =>
  queryOptions({
    queryKey: ["features", entity, keys],
    queryFn: ({ signal }) =>
      api
        .POST("/api/v1/features/{entity}/lookup", {
          params: { path: { entity } },
          body: { keys, groups: [] },
          signal,
        })
        .then(answered),
    enabled: keys.length > 0,
    staleTime: 0,
  });

export type FeatureWrite = {
  entity: string;
  group: string;
  key: string[];
  values: Record<string, FeatureValue>;
};

export const useWriteFeatures = () =>
  useMutation({
    mutationFn: ({ entity, group, key, values }: FeatureWrite) =>
      api
        .PUT("/api/v1/features/{entity}/{group}", {
          params: { path: { entity, group } },
          body: { rows: [{ key, values }] },
        })
        .then(answered),
  });
