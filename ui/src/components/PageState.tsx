import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { asProblem } from "../api/problem";
import { FailedFace, LoadingFace } from "./faces";

type Props<T> = {
  query: UseQueryResult<T>;
  /** Shown while nothing has come yet; lines of grey unless given. */
  loading?: ReactNode;
  isEmpty?: (data: T) => boolean;
  empty?: ReactNode;
  children: (data: T) => ReactNode;
};

/** Picks the face: what has come stays in view while it is asked for again, with a failure told above it. */
export function PageState<T>({ query, loading, isEmpty, empty, children }: Props<T>) {
  const retry = (): void => void query.refetch();
  if (query.data === undefined) {
    if (query.isError) return <FailedFace problem={asProblem(query.error)} retry={retry} />;
    return loading ?? <LoadingFace />;
  }
  return (
    <>
      {query.isError && <FailedFace problem={asProblem(query.error)} retry={retry} />}
      {empty && isEmpty?.(query.data) ? empty : children(query.data)}
    </>
  );
}
