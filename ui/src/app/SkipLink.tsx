import Link from "@mui/material/Link";

/** The first thing the keyboard reaches; seen only then. */
export function SkipLink() {
  return (
    <Link
      href="#content"
      sx={{
        position: "fixed",
        top: 6,
        left: 8,
        px: 1.5,
        py: 0.75,
        zIndex: "tooltip",
        bgcolor: "background.paper",
        transform: "translateY(-200%)",
        "&:focus": { transform: "none" },
      }}
    >
      Skip to the content
    </Link>
  );
}
