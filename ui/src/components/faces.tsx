/** The faces a page has besides the full one: loading, empty, failed. */
import Alert from "@mui/material/Alert";
import AlertTitle from "@mui/material/AlertTitle";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Skeleton from "@mui/material/Skeleton";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import type { ProblemDocument } from "../api/problem";
import { CommandLine } from "./CommandLine";
import { ProblemList } from "./ProblemList";

export function LoadingFace({ rows = 6 }: { rows?: number }) {
  return (
    <Stack spacing={1} role="status" aria-label="Loading" aria-busy="true">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} variant="rounded" height={36} animation="wave" />
      ))}
    </Stack>
  );
}

type EmptyProps = {
  title: string;
  text?: string;
  /** A command that would change this; it can be copied. */
  command?: string;
  children?: ReactNode;
};

export function EmptyFace({ title, text, command, children }: EmptyProps) {
  return (
    <Box
      sx={{
        py: 6,
        px: 2,
        textAlign: "center",
        border: "1px dashed",
        borderColor: "divider",
        borderRadius: 2,
      }}
    >
      <Typography variant="h2" component="p" gutterBottom>
        {title}
      </Typography>
      {text && <Typography color="textSecondary">{text}</Typography>}
      {command && (
        <Box sx={{ mt: 2, display: "flex", justifyContent: "center" }}>
          <CommandLine command={command} />
        </Box>
      )}
      {children && <Box sx={{ mt: 2 }}>{children}</Box>}
    </Box>
  );
}

export function FailedFace({ problem, retry }: { problem: ProblemDocument; retry?: () => void }) {
  const again = retry && (
    <Button color="inherit" onClick={retry}>
      Try again
    </Button>
  );
  return (
    <Alert severity="error" variant="outlined" action={again}>
      <AlertTitle>{problem.title}</AlertTitle>
      {problem.detail && <div>{problem.detail}</div>}
      {problem.field && <div>Field: {problem.field}</div>}
      {problem.hint && <div>{problem.hint}</div>}
      {problem.problems && problem.problems.length > 0 && <ProblemList problems={problem.problems} />}
      {problem.request_id && (
        <Typography variant="caption" color="textSecondary">
          Request {problem.request_id}
        </Typography>
      )}
    </Alert>
  );
}
