/** Who may call, and who changed what. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import type { Schema } from "../../api/types";

export type KeyCard = Schema<"FleetKey">;
export type AuditEntry = Schema<"AuditEntry">;
export type NewKey = Schema<"NewKey">;
export type KeyOrder = Schema<"KeyBody">;
export type Permission = KeyOrder["permissions"][number];

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: ({ signal }) => api.GET("/api/v1/keys", { signal }).then(answered),
});

export const auditQuery = queryOptions({
  queryKey: ["audit"],
  queryFn: ({ signal }) =>
    api.GET("/api/v1/audit", { params: { query: { limit: 100 } }, signal }).then(answered),
});

function useKeyChange<Asked, Answer>(change: (asked: Asked) => Promise<Answer>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: ["keys"] }),
        cache.invalidateQueries({ queryKey: ["audit"] }),
      ]),
    // The key's text is in the answer, and must not outlive the dialog that shows it.
    gcTime: 0,
  });
}

export const useCreateKey = () =>
  useKeyChange((body: KeyOrder) => api.POST("/api/v1/keys", { body }).then(answered));

export const useRevokeKey = () =>
  useKeyChange((key_id: string) => api.DELETE("/api/v1/keys/{key_id}", { params: { path: { key_id } } }));
