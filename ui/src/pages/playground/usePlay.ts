import {
  keepPreviousData,
  queryOptions,
  skipToken,
  useQuery,
  type UseQueryResult,
} from "@tanstack/react-query";
import { useState } from "react";
import { play, type Overrides, type Play, type ScoreRequest } from "../../api/runs";

export const NO_OVERRIDES: Overrides = { values: [], models: {} };

/** One press of Score. The same request pressed twice is scored twice. */
export type Attempt = { request: ScoreRequest; overrides: Overrides; number: number };

export type Playing = {
  result: UseQueryResult<Play>;
  attempt: Attempt | null;
  overrides: Overrides;
  item: string | null;
  hasStarted: boolean;
  score: (request: ScoreRequest) => void;
  /** Scores the same request again with these. */
  override: (overrides: Overrides) => void;
  pick: (item: string | null) => void;
};

/** The last answer stays in view while the next is on its way. */
export const playQuery = (config: string, attempt: Attempt | null, item: string | null) =>
  queryOptions({
    queryKey: ["play", config, attempt, item],
    queryFn: attempt
      ? ({ signal }) => play(config, { request: attempt.request, overrides: attempt.overrides, item }, signal)
      : skipToken,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
    retry: false,
  });

export function usePlay(config: string): Playing {
  const [attempt, setAttempt] = useState<Attempt | null>(null);
  const [item, pick] = useState<string | null>(null);
  const overrides = attempt?.overrides ?? NO_OVERRIDES;
  const again = (change: Pick<Attempt, "request" | "overrides">): void =>
    setAttempt((last) => ({ ...change, number: (last?.number ?? 0) + 1 }));
  return {
    result: useQuery(playQuery(config, attempt, null)),
    attempt,
    overrides,
    item,
    hasStarted: attempt !== null,
    score: (request) => again({ request, overrides }),
    override: (next) => attempt && again({ request: attempt.request, overrides: next }),
    pick,
  };
}
