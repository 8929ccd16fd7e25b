import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import MuiLink from "@mui/material/Link";
import { Link } from "react-router";

/** An id that stands for several configs: each arm with its share. */
export function SplitLinks({ split }: { split: Record<string, number> }) {
  return (
    <Paper variant="outlined" sx={{ p: 2 }}>
      <Typography gutterBottom>Requests for this id go to one of these, by share:</Typography>
      <ul>
        {Object.entries(split).map(([arm, share]) => (
          <li key={arm}>
            <MuiLink component={Link} to={`/configs/${encodeURIComponent(arm)}`}>
              {arm}
            </MuiLink>{" "}
            {share} %
          </li>
        ))}
      </ul>
    </Paper>
  );
}
