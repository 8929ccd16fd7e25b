import Box from "@mui/material/Box";
import { CopyButton } from "./CopyButton";

/** A command to type, ready to copy. */
export function CommandLine({ command }: { command: string }) {
  return (
    <Box
      sx={{
        display: "inline-flex",
        alignItems: "center",
        gap: 1,
        maxWidth: "100%",
        pl: 1.5,
        pr: 0.5,
        py: 0.25,
        borderRadius: 1,
        bgcolor: "action.hover",
      }}
    >
      <Box component="code" className="mono" sx={{ overflowWrap: "anywhere", textAlign: "start" }}>
        {command}
      </Box>
      <CopyButton text={command} label="Copy the command" />
    </Box>
  );
}
