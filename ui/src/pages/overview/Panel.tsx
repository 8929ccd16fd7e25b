import Link from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import { Link as RouterLink } from "react-router";

type Props = { title: string; /** The page that has more of it. */ to?: string; children: ReactNode };

/** A part of the overview, with the way to more of it. */
export function Panel({ title, to, children }: Props) {
  return (
    <Stack component="section" spacing={1} aria-label={title} sx={{ minWidth: 0 }}>
      <Stack direction="row" sx={{ justifyContent: "space-between", alignItems: "baseline" }}>
        <Typography variant="h2">{title}</Typography>
        {to && (
          <Link component={RouterLink} to={to} variant="body2" aria-label={`All of ${title}`}>
            All
          </Link>
        )}
      </Stack>
      {children}
    </Stack>
  );
}
