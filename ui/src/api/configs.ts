/** Model configs: as they serve, as they are written, as they were, and as they might be. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answered, api } from "./client";
import type { Schema } from "./types";

export type ConfigStatus = Schema<"ConfigState">;
export type ConfigDocument = Schema<"ConfigText">;
export type Format = ConfigDocument["format"];
export type Written = Pick<ConfigDocument, "text" | "format">;
export type Plan = Schema<"PlanDocument">;
export type PlanNode = Schema<"PlanNode">;
export type PlanColumn = Schema<"WrittenColumn">;
export type NodeKind = PlanNode["kind"];
export type Version = Schema<"ConfigVersion">;
export type Validation = Schema<"Validated">;
export type CheckResult = Schema<"CheckedConfig">;
export type Published = Schema<"PublishedConfig">;
export type Publication = Required<Schema<"PublishBody">>;

const of = (config_id: string) => ({ path: { config_id } });

export const configQueries = {
  list: () =>
    queryOptions({
      queryKey: ["configs"],
      queryFn: ({ signal }) => api.GET("/api/v1/configs", { signal }).then(answered),
    }),
  one: (id: string) =>
    queryOptions({
      queryKey: ["configs", id],
      queryFn: ({ signal }) =>
        api.GET("/api/v1/configs/{config_id}", { params: of(id), signal }).then(answered),
    }),
  plan: (id: string) =>
    queryOptions({
      queryKey: ["configs", id, "plan"],
      queryFn: ({ signal }) =>
        api.GET("/api/v1/configs/{config_id}/plan", { params: of(id), signal }).then(answered),
    }),
  history: (id: string) =>
    queryOptions({
      queryKey: ["configs", id, "history"],
      queryFn: ({ signal }) =>
        api.GET("/api/v1/configs/{config_id}/history", { params: of(id), signal }).then(answered),
    }),
  difference: (id: string, from: number, to: number) =>
    queryOptions({
      queryKey: ["configs", id, "diff", from, to],
      queryFn: ({ signal }) =>
        api
          .GET("/api/v1/configs/{config_id}/diff", { params: { ...of(id), query: { from, to } }, signal })
          .then(answered),
      staleTime: Infinity,
    }),
  /** What is wrong with a text. The last answer stays while the next is on its way. */
  validation: (id: string, written: Written) =>
    queryOptions({
      queryKey: ["validation", id, written],
      queryFn: ({ signal }): Promise<Validation> =>
        api.POST("/api/v1/configs/validate", { body: { ...written, id }, signal }).then(answered),
      placeholderData: keepPreviousData,
      staleTime: Infinity,
      gcTime: 30_000,
    }),
};

export const checkConfig = (id: string, written: Written): Promise<CheckResult> =>
  api.POST("/api/v1/configs/{config_id}/check", { params: of(id), body: written }).then(answered);

export const publishConfig = (id: string, publication: Publication): Promise<Published> =>
  api.PUT("/api/v1/configs/{config_id}", { params: of(id), body: publication }).then(answered);

export const rollBackConfig = (id: string, to: number, expected_version: number): Promise<Published> =>
  api
    .POST("/api/v1/configs/{config_id}/rollback", { params: of(id), body: { to, expected_version } })
    .then(answered);
