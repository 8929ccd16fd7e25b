import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { Link } from "react-router";

export function Brand() {
  return (
    <Box
      component={Link}
      to="/"
      sx={{ display: "flex", alignItems: "center", gap: 1, color: "inherit", textDecoration: "none" }}
    >
      <img src="/favicon.svg" alt="" width={24} height={24} />
      <Typography component="span" sx={{ fontWeight: 700, fontSize: "1rem", letterSpacing: "-0.01em" }}>
        Inferflow
      </Typography>
    </Box>
  );
}
