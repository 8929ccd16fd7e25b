/** One cache of answers. A client's mistake (4xx) is never asked twice; a missing gateway is, twice. */
import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./problem";

export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        refetchOnWindowFocus: false,
        retry: (count, error) =>
          count < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
        retryDelay: (attempt) => Math.min(400 * 2 ** attempt, 4_000),
      },
      mutations: { retry: false },
    },
  });
}
