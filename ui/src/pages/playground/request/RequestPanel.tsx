import Button from "@mui/material/Button";
import MenuItem from "@mui/material/MenuItem";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import ToggleButton from "@mui/material/ToggleButton";
import ToggleButtonGroup from "@mui/material/ToggleButtonGroup";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { configQueries } from "../../../api/configs";
import { playgroundQueries, type Sample, type ScoreRequest } from "../../../api/runs";
import { LoadingFace } from "../../../components/faces";
import { PageState } from "../../../components/PageState";
import { RequestForm } from "./RequestForm";
import { readRequest, requestText, starter } from "./requestText";

const JsonEditor = lazy(() => import("./JsonEditor"));

type Props = { config: string; isBusy: boolean; onScore: (request: ScoreRequest) => void };

/** The request: from a sample, in a form, or as JSON. */
export function RequestPanel({ config, isBusy, onScore }: Props) {
  const samples = useQuery(playgroundQueries.samples(config));
  const plan = useQuery({ ...configQueries.plan(config), retry: false });
  return (
    <Paper variant="outlined" component="section" aria-label="Request" sx={{ p: 2, alignSelf: "start" }}>
      <PageState query={samples}>
        {(data) =>
          plan.isLoading ? (
            <LoadingFace rows={4} />
          ) : (
            <Request
              {...{ samples: data.samples, isBusy, onScore }}
              empty={starter(config, plan.data?.inputs)}
            />
          )
        }
      </PageState>
    </Paper>
  );
}

type RequestProps = Pick<Props, "isBusy" | "onScore"> & { samples: Sample[]; empty: ScoreRequest };

function Request({ samples, empty, isBusy, onScore }: RequestProps) {
  const [name, setName] = useState(samples[0]?.name ?? "");
  const [text, setText] = useState(() => requestText(samples[0]?.request ?? empty));
  const [isJson, setJson] = useState(false);
  const read = readRequest(text);
  const take = (chosen: string): void => {
    setName(chosen);
    const sample = samples.find((one) => one.name === chosen);
    if (sample) setText(requestText(sample.request));
  };
  return (
    <Stack spacing={2}>
      <Stack direction="row" spacing={1} sx={{ alignItems: "center" }}>
        {samples.length > 0 && <SampleChoice {...{ samples, name }} onTake={take} />}
        <ToggleButtonGroup
          exclusive
          size="small"
          value={isJson}
          onChange={(_, value) => value !== null && setJson(value as boolean)}
          aria-label="Write as"
        >
          <ToggleButton value={false}>Form</ToggleButton>
          <ToggleButton value={true}>JSON</ToggleButton>
        </ToggleButtonGroup>
      </Stack>
      {isJson ? (
        <Suspense fallback={<LoadingFace rows={4} />}>
          <JsonEditor text={text} onChange={setText} />
        </Suspense>
      ) : read.request ? (
        <RequestForm
          key={name}
          request={read.request}
          onChange={(request) => setText(requestText(request))}
        />
      ) : (
        <Typography>The JSON cannot be read: mend it there first.</Typography>
      )}
      {read.error && (
        <Typography color="error" role="alert" variant="body2">
          {read.error}
        </Typography>
      )}
      <Button
        variant="contained"
        size="medium"
        loading={isBusy}
        disabled={!read.request}
        onClick={() => read.request && onScore(read.request)}
      >
        Score
      </Button>
    </Stack>
  );
}

function SampleChoice({
  samples,
  name,
  onTake,
}: {
  samples: Sample[];
  name: string;
  onTake: (name: string) => void;
}) {
  return (
    <TextField
      select
      label="Sample"
      value={name}
      onChange={(event) => onTake(event.target.value)}
      sx={{ flexGrow: 1, minWidth: 0 }}
    >
      {samples.map((sample) => (
        <MenuItem key={sample.name} value={sample.name}>
          {sample.name}
        </MenuItem>
      ))}
    </TextField>
  );
}
