/** Every setting with its value, where it comes from and what it means. Secrets arrive masked. */
import { queryOptions } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import type { Schema } from "../../api/types";

export type Setting = Schema<"SettingValue">;

export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: ({ signal }) => api.GET("/api/v1/settings", { signal }).then(answered),
});
