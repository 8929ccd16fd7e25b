import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import { useQuery } from "@tanstack/react-query";
import { meQuery } from "../../api/me";
import { useLive } from "../../app/LiveProvider";
import { Page } from "../../components/Page";
import { ConfigsPanel } from "./ConfigsPanel";
import { EventsPanel } from "./EventsPanel";
import { Tiles } from "./Tiles";
import { Traffic } from "./Traffic";
import { WorkersPanel } from "./WorkersPanel";

/** What happens right now, at a glance. */
export default function OverviewPage() {
  const parts = useQuery(meQuery).data?.parts;
  const overview = useLive((state) => state.latest?.overview ?? null);
  return (
    <Page title="Overview">
      <Stack spacing={3}>
        <Tiles overview={overview} />
        <Traffic />
        <Box
          sx={{
            display: "grid",
            gap: 3,
            gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "repeat(2, minmax(0, 1fr))" },
          }}
        >
          {parts?.configs !== false && <ConfigsPanel />}
          {parts?.fleet && <WorkersPanel />}
          <Box sx={{ gridColumn: "1 / -1" }}>
            <EventsPanel />
          </Box>
        </Box>
      </Stack>
    </Page>
  );
}
