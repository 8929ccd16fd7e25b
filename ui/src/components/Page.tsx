import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { useEffect, type ReactNode } from "react";

type Props = {
  title: string;
  /** Beside the title: chips that say how it stands. */
  beside?: ReactNode;
  /** At the right: what can be done here. */
  actions?: ReactNode;
  children: ReactNode;
};

/** A page's frame: its title, in the window's title too, and what can be done. */
export function Page({ title, beside, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Inferflow`;
  }, [title]);
  return (
    <Box sx={{ p: { xs: 2, md: 3 }, maxWidth: 1600, mx: "auto" }}>
      <Box sx={{ display: "flex", flexWrap: "wrap", alignItems: "center", gap: 1.5, mb: 2, minHeight: 36 }}>
        <Typography variant="h1" sx={{ overflowWrap: "anywhere" }}>
          {title}
        </Typography>
        {beside}
        <Box sx={{ flexGrow: 1 }} />
        {actions}
      </Box>
      {children}
    </Box>
  );
}
