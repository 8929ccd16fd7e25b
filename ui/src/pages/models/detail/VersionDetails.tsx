import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import { CopyButton } from "../../../components/CopyButton";
import { bytes } from "../../../components/format";
import { Time } from "../../../components/Time";
import type { ModelVersion, StageChange } from "../api";
import { SchemaTable } from "../SchemaTable";

/** What a version takes and gives, what it is made of, and how it came where it is. */
export function VersionDetails({ version, children }: { version: ModelVersion; children?: ReactNode }) {
  return (
    <Stack spacing={2}>
      {children}
      {version.problem && (
        <Alert severity="error" variant="outlined">
          {version.problem}
        </Alert>
      )}
      {version.note && (
        <Alert severity="info" variant="outlined">
          {version.note}
        </Alert>
      )}
      {version.description && <Typography>{version.description}</Typography>}
      <SchemaTable inputs={version.inputs} outputs={version.outputs} />
      <Named name="Files">
        {version.files.map((file) => (
          <div key={file.path}>
            <span className="mono">{file.path}</span>, {bytes(file.size)}
          </div>
        ))}
      </Named>
      <Named name="Digest">
        <Box component="span" className="mono" sx={{ overflowWrap: "anywhere" }}>
          {version.digest}
        </Box>
        <CopyButton text={version.digest} label="Copy the digest" />
      </Named>
      {version.options_json && (
        <Named name="Options">
          <code className="mono">{version.options_json}</code>
        </Named>
      )}
      <Named name="History">
        {version.history.map((change) => (
          <Change key={`${change.at_ms}${change.to}`} change={change} />
        ))}
      </Named>
    </Stack>
  );
}

function Named({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <Typography variant="h3" gutterBottom>
        {name}
      </Typography>
      {children}
    </div>
  );
}

function Change({ change: { from, to, at_ms, by, reason } }: { change: StageChange }) {
  return (
    <Typography variant="body2">
      {from ? `${from} → ${to}` : to} by {by}
      {reason && `: ${reason}`}{" "}
      <Typography component="span" variant="caption" color="textSecondary">
        <Time at_ms={at_ms} />
      </Typography>
    </Typography>
  );
}
