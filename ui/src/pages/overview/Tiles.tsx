import Box from "@mui/material/Box";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import type { Overview } from "../../api/types";
import { milliseconds, number } from "../../components/format";

/** The numbers of this second; dashes until the first have come. */
export function Tiles({ overview }: { overview: Overview | null }) {
  const tiles: { label: string; value: string; isBad?: boolean }[] = [
    { label: "Requests/s", value: number(overview?.rate, 3) },
    { label: "p50", value: milliseconds(overview?.p50_ms) },
    { label: "p95", value: milliseconds(overview?.p95_ms) },
    { label: "p99", value: milliseconds(overview?.p99_ms) },
    {
      label: "Errors/s",
      value: number(overview?.errors_per_s, 3),
      isBad: Boolean(overview?.errors_per_s),
    },
    { label: "In flight", value: number(overview?.in_flight) },
  ];
  return (
    <Box
      component="dl"
      sx={{
        m: 0,
        display: "grid",
        gap: 1.5,
        gridTemplateColumns: { xs: "repeat(2, 1fr)", sm: "repeat(3, 1fr)", lg: "repeat(6, 1fr)" },
      }}
    >
      {tiles.map(({ label, value, isBad }) => (
        <Paper key={label} variant="outlined" sx={{ px: 2, py: 1.5 }}>
          <Typography component="dt" variant="body2" color="textSecondary">
            {label}
          </Typography>
          <Typography
            component="dd"
            sx={{ m: 0, fontSize: "1.5rem", fontWeight: 650 }}
            color={isBad ? "error" : undefined}
          >
            {value}
          </Typography>
        </Paper>
      ))}
    </Box>
  );
}
