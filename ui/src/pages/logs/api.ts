/** The inference log as the gateway reads it back: newest first, a page at a time. */
import { infiniteQueryOptions } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import type { Schema } from "../../api/types";
import { logQuery, type LogFilters } from "./filters";

export type LogRecord = Schema<"LogRecord">;

const PAGE = 50;

export const logsQuery = (filters: LogFilters) =>
  infiniteQueryOptions({
    queryKey: ["logs", filters],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...logQuery(filters, Date.now()), limit: PAGE, cursor: pageParam };
      return api.GET("/api/v1/logs", { params: { query }, signal }).then(answered);
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });
