import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Skeleton from "@mui/material/Skeleton";
import { lazy, Suspense, useMemo } from "react";
import { useLive } from "../../app/LiveProvider";
import { EmptyFace } from "../../components/faces";
import type { Line } from "./Chart";
import { chartRows, isQuiet } from "./series";

// The chart library is most of what this page weighs: its numbers are there before it.
const Chart = lazy(() => import("./Chart"));

const RATES: Line[] = [
  { name: "rate", label: "requests", colour: "primary" },
  { name: "errors", label: "errors", colour: "error" },
];
const LATENCIES: Line[] = [
  { name: "p50", label: "p50", colour: "primary" },
  { name: "p95", label: "p95", colour: "warning" },
  { name: "p99", label: "p99", colour: "error" },
];
const HEIGHT = 200;

/** Five minutes of requests, errors and latencies, as the live socket tells them. */
export function Traffic() {
  const history = useLive((state) => state.history);
  const link = useLive((state) => state.link);
  const rows = useMemo(() => chartRows(history), [history]);
  const blank = <Skeleton variant="rounded" height={HEIGHT + 40} />;
  return (
    <>
      {link === "lost" && (
        <Alert severity="warning" variant="outlined">
          The live connection is lost; what is shown is the last that came. It is tried again by itself.
        </Alert>
      )}
      {rows.length > 0 && isQuiet(rows) ? (
        <EmptyFace
          title="No requests in the last five minutes"
          text="Try one in the playground, or from the command line:"
          command="inferflow bench"
        />
      ) : (
        <Box
          sx={{
            display: "grid",
            gap: 3,
            gridTemplateColumns: { xs: "minmax(0, 1fr)", md: "repeat(2, minmax(0, 1fr))" },
          }}
          {...(rows.length === 0 && link !== "lost" && { role: "status", "aria-label": "Loading" })}
        >
          <Suspense
            fallback={[blank, blank].map((each, at) => (
              <div key={at}>{each}</div>
            ))}
          >
            {rows.length === 0 ? (
              [0, 1].map((at) => <div key={at}>{blank}</div>)
            ) : (
              <>
                <Chart title="Requests and errors per second" rows={rows} lines={RATES} height={HEIGHT} />
                <Chart title="Latency in milliseconds" rows={rows} lines={LATENCIES} height={HEIGHT} />
              </>
            )}
          </Suspense>
        </Box>
      )}
    </>
  );
}
