import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { EmptyFace, FailedFace, LoadingFace } from "../../components/faces";
import { Page } from "../../components/Page";
import { StatusChip } from "../../components/StatusChip";
import { asProblem } from "../../api/problem";
import { logsQuery } from "./api";
import { FilterForm } from "./FilterForm";
import { isFiltered, readFilters, writeFilters, type LogFilters } from "./filters";
import { RecordTable } from "./RecordTable";

/** The inference log: what was asked, by whom, and what every row was made of. */
export default function LogsPage() {
  const cache = useQueryClient();
  const [written, setWritten] = useSearchParams();
  const filters = readFilters(written);
  const query = useInfiniteQuery(logsQuery(filters));
  const sink = query.data?.pages[0]?.sink;
  const records = query.data?.pages.flatMap((page) => page.records) ?? [];
  const search = (next: LogFilters): void => {
    setWritten(writeFilters(next), { replace: true });
    // The same question asked again is about what was logged since.
    void cache.invalidateQueries({ queryKey: ["logs"] });
  };
  const more = query.hasNextPage && (
    <Button
      loading={query.isFetchingNextPage}
      onClick={() => void query.fetchNextPage()}
      sx={{ alignSelf: "center" }}
    >
      Show older
    </Button>
  );
  return (
    <Page title="Logs" beside={sink && <StatusChip tone={sink === "off" ? "quiet" : "good"} label={sink} />}>
      {sink === "off" ? (
        <LogOff />
      ) : (
        <Stack spacing={2}>
          <FilterForm filters={filters} onFilter={search} />
          {query.isError && (
            <FailedFace problem={asProblem(query.error)} retry={() => void query.refetch()} />
          )}
          {query.isPending && <LoadingFace />}
          {query.data && records.length === 0 && <NothingLogged isFiltered={isFiltered(filters)} />}
          {records.length > 0 && <RecordTable records={records} />}
          {more}
        </Stack>
      )}
    </Page>
  );
}

function LogOff() {
  return (
    <EmptyFace
      title="The inference log is off"
      text="Say where it goes (files needs no server), and set logging_perc in a config's response_config:"
      command="INFERFLOW_LOGS_SINK=files inferflow up"
    />
  );
}

function NothingLogged({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <EmptyFace title="Nothing in the log matches" text="Filters are exact: clear one and try again." />
  ) : (
    <EmptyFace
      title="Nothing is logged yet"
      text="Requests of configs with logging_perc in their response_config appear here, once their file is closed."
      command="inferflow logs stats"
    />
  );
}
