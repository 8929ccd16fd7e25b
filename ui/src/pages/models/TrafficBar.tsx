import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { shareOf, type Split } from "./traffic";

const SHADES = ["primary.main", "secondary.main", "info.main", "warning.main"];

/** How a model's traffic is split, drawn to scale and said in words. */
export function TrafficBar({ model }: { model: Split }) {
  const served = model.versions
    .map(({ version }) => ({ version, share: shareOf(model, version) }))
    .filter(({ share }) => share > 0);
  if (served.length === 0) return "–";
  return (
    <Box sx={{ minWidth: 140 }}>
      <Box aria-hidden sx={{ display: "flex", height: 6, borderRadius: 3, overflow: "hidden" }}>
        {served.map(({ version, share }, at) => (
          <Box key={version} sx={{ width: `${share}%`, bgcolor: SHADES[at % SHADES.length] }} />
        ))}
      </Box>
      <Typography variant="caption" color="textSecondary">
        {served.map(({ version, share }) => `version ${version}: ${share} %`).join(", ")}
      </Typography>
    </Box>
  );
}
