/** What happened when a request was scored: recorded by a server, or tried in the playground. */
import { queryOptions } from "@tanstack/react-query";
import { answered, api } from "./client";
import type { Schema } from "./types";

/** Whatever JSON holds; it has no NaN and no infinities, so those come as text. */
export type Value = unknown;

/** Facts that only some kinds of step have. */
type StepFacts = {
  unique_keys?: number | null;
  cache_hits?: number | null;
  without_key?: number;
  stand_ins?: Record<string, number>;
  pinned?: string[];
  endpoint?: string;
  answered_by?: string;
  batches?: number;
  nans?: number;
  blank?: number;
};
export type RunStep = Schema<"RunStep"> & StepFacts;
export type Run = Schema<"Run">;
export type Item = Schema<"Item">;
export type ItemRow = Schema<"ItemRow">;
export type ItemColumn = Schema<"ItemColumn">;
export type Recording = Schema<"RecordingLine">;
export type RecordingDocument = Schema<"RecordingDocument">;

export const recordingQueries = {
  list: (last: number) =>
    queryOptions({
      queryKey: ["recordings", last],
      queryFn: ({ signal }) =>
        api.GET("/api/v1/recordings", { params: { query: { last } }, signal }).then(answered),
    }),
  one: (recording: string, item: string) =>
    queryOptions({
      queryKey: ["recordings", recording, item],
      queryFn: ({ signal }) =>
        api
          .GET("/api/v1/recordings/{recording}", {
            params: { path: { recording }, query: item ? { item } : {} },
            signal,
          })
          .then(answered),
      staleTime: Infinity,
    }),
};

export type Target = Schema<"ScoredTarget">;
export type Answer = Schema<"PlayedAnswer">;
export type ScoreRequest = Schema<"Sample">["request"];
export type Sample = Schema<"Sample">;
export type ValueOverride = Schema<"OtherValue">;
export type Overrides = Pick<Schema<"Overrides">, "values" | "models">;
export type Matrix = Schema<"MatrixDocument">;
export type MatrixColumn = Schema<"MatrixColumn">;
export type Play = Schema<"Played">;
export type Try = { request: ScoreRequest; overrides: Overrides; item: string | null };

export const isWhatIf = ({ values, models }: Overrides): boolean =>
  values.length > 0 || Object.keys(models).length > 0;

export const playgroundQueries = {
  samples: (config: string) =>
    queryOptions({
      queryKey: ["samples", config],
      queryFn: ({ signal }) =>
        api.GET("/api/v1/samples", { params: { query: { config } }, signal }).then(answered),
      staleTime: 60_000,
    }),
};

export const play = (config_id: string, body: Try, signal?: AbortSignal): Promise<Play> =>
  api
    .POST("/api/v1/playground/{config_id}", { params: { path: { config_id } }, body, signal })
    .then(answered);
