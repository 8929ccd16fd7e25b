import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";

const TINT = {
  "+": "color-mix(in srgb, var(--mui-palette-success-main) 16%, transparent)",
  "-": "color-mix(in srgb, var(--mui-palette-error-main) 16%, transparent)",
} as const;

const tintOf = (line: string): string | undefined => {
  if (line.startsWith("+++") || line.startsWith("---")) return undefined;
  return TINT[line[0] as keyof typeof TINT];
};

/** A unified diff. The signs stay, so that colour is not all there is. */
export function DiffLines({ lines, label }: { lines: readonly string[]; label: string }) {
  if (lines.length === 0) return <Typography color="textSecondary">No difference.</Typography>;
  return (
    <Box
      component="pre"
      tabIndex={0}
      aria-label={label}
      className="mono"
      sx={{
        m: 0,
        py: 1,
        overflow: "auto",
        maxHeight: 480,
        border: 1,
        borderColor: "divider",
        borderRadius: 1,
      }}
    >
      {lines.map((line, at) => (
        <Box
          key={at}
          component="span"
          sx={{ display: "block", px: 1.5, minWidth: "max-content", bgcolor: tintOf(line) }}
        >
          {line.replace(/\n$/, "") || " "}
        </Box>
      ))}
    </Box>
  );
}
