import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import { EmptyFace, FailedFace, LoadingFace } from "../../components/faces";
import { asProblem } from "../../api/problem";
import { RequestPanel } from "./request/RequestPanel";
import { Results } from "./Results";
import { usePlay } from "./usePlay";
import { WhatIfBar } from "./WhatIfBar";
import { WhyDrawer } from "./why/WhyDrawer";

/** Left the request, right what came of it. */
export function Bench({ config }: { config: string }) {
  const playing = usePlay(config);
  const { result, overrides, item } = playing;
  return (
    <Box
      sx={{
        display: "grid",
        gap: 2,
        gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "300px minmax(0, 1fr)" },
      }}
    >
      <RequestPanel config={config} isBusy={result.isFetching} onScore={playing.score} />
      <Stack spacing={2} sx={{ minWidth: 0 }}>
        {playing.hasStarted && (
          <WhatIfBar {...{ config, overrides, result: result.data }} onChange={playing.override} />
        )}
        {!playing.hasStarted && (
          <EmptyFace title="Nothing scored yet" text="Take a sample or write a request, then press Score." />
        )}
        {result.isError && (
          <FailedFace problem={asProblem(result.error)} retry={() => void result.refetch()} />
        )}
        {result.isLoading && <LoadingFace />}
        {result.data && <Results play={result.data} item={item} onPick={playing.pick} />}
      </Stack>
      <WhyDrawer
        {...{ config, attempt: playing.attempt, item, overrides }}
        onOverride={playing.override}
        onClose={() => playing.pick(null)}
      />
    </Box>
  );
}
