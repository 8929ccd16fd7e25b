/** The workers as of the last second: asked for once, and from then on as the live socket tells. */
import { useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useEffect } from "react";
import { useLive } from "../../app/LiveProvider";
import { workersQuery, type Worker } from "../../api/workers";

export function useWorkers(): UseQueryResult<{ workers: Worker[] }> {
  const cache = useQueryClient();
  const told = useLive((state) => state.latest?.workers);
  useEffect(() => {
    if (told) cache.setQueryData(workersQuery.queryKey, { workers: told });
  }, [cache, told]);
  return useQuery(workersQuery);
}
