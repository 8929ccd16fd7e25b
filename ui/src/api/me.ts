/** Who is asking, what they may do, and which parts run behind this gateway. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { answered, api } from "./client";

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => api.GET("/api/v1/me", { signal }).then(answered),
  staleTime: 60_000,
});

/** False until known, so that nobody is offered what will be refused. */
export function useMay(permission: string): boolean {
  const { data } = useQuery(meQuery);
  if (!data) return false;
  return data.auth === "off" || data.permissions.includes(permission);
}
