/** What is asked of the log. Filters live in the address, so that a view can be linked to. */

export interface LogFilters {
  config: string;
  tracking_id: string;
  user: string;
  /** How far back, in minutes; empty is without end. */
  within: string;
}

const NAMES = ["config", "tracking_id", "user", "within"] as const;

export function readFilters(search: URLSearchParams): LogFilters {
  const [config, tracking_id, user, within] = NAMES.map((name) => search.get(name) ?? "");
  return { config: config!, tracking_id: tracking_id!, user: user!, within: within! };
}

export function writeFilters(filters: LogFilters): URLSearchParams {
  const entries = NAMES.map((name) => [name, filters[name].trim()]);
  return new URLSearchParams(entries.filter(([, value]) => value !== ""));
}

export interface LogQuery {
  config?: string;
  tracking_id?: string;
  user?: string;
  since_ms?: number;
}

export function logQuery(filters: LogFilters, now_ms: number): LogQuery {
  const minutes = Number(filters.within);
  return {
    ...(filters.config && { config: filters.config }),
    ...(filters.tracking_id && { tracking_id: filters.tracking_id }),
    ...(filters.user && { user: filters.user }),
    ...(minutes > 0 && { since_ms: now_ms - minutes * 60_000 }),
  };
}

export const isFiltered = (filters: LogFilters): boolean => NAMES.some((name) => filters[name] !== "");
