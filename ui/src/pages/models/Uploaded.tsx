import Alert from "@mui/material/Alert";
import AlertTitle from "@mui/material/AlertTitle";
import Stack from "@mui/material/Stack";
import { Link } from "react-router";
import { bytes } from "../../components/format";
import type { ModelVersion } from "./api";
import { SchemaTable } from "./SchemaTable";

/** What was checked, and what the registry has read from the files. */
export function Uploaded({ version }: { version: ModelVersion }) {
  return (
    <Stack spacing={2}>
      <Alert severity="success" variant="outlined">
        <AlertTitle>
          <Link to={`/models/${encodeURIComponent(version.model)}`}>
            {version.model} {version.version}
          </Link>{" "}
          is in {version.stage}
        </AlertTitle>
        Every byte arrived ({bytes(version.size)}, digest {version.digest.slice(0, 12)}), the model opens, and
        its inputs and outputs are named and typed.
      </Alert>
      {version.note && (
        <Alert severity="info" variant="outlined">
          {version.note}
        </Alert>
      )}
      <SchemaTable inputs={version.inputs} outputs={version.outputs} />
    </Stack>
  );
}
