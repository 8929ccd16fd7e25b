import InputAdornment from "@mui/material/InputAdornment";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import Button from "@mui/material/Button";
import { useState } from "react";
import { asProblem } from "../../../api/problem";
import { useNotice } from "../../../app/Notices";
import { Confirm } from "../../../components/Confirm";
import { FailedFace } from "../../../components/faces";
import { useSetTraffic, type Model } from "../api";
import { shareOf, sharesToSet, trafficProblem } from "../traffic";

/** Splits a model's traffic between its versions: a canary, or back to production alone. */
export function TrafficDialog({ model, onClose }: { model: Model; onClose: () => void }) {
  const say = useNotice();
  const setTraffic = useSetTraffic(model.name);
  const [shares, setShares] = useState(() =>
    Object.fromEntries(model.versions.map(({ version }) => [version, String(shareOf(model, version))])),
  );
  const problem = trafficProblem(shares);
  const set = (split: Record<string, number>): void =>
    setTraffic.mutate(split, {
      onSuccess: () => {
        say(`Traffic of ${model.name} is set`);
        onClose();
      },
    });
  return (
    <Confirm
      open
      title={`Traffic of ${model.name}`}
      verb="Set traffic"
      busy={setTraffic.isPending}
      disabled={problem !== null}
      onConfirm={() => set(sharesToSet(shares))}
      onClose={onClose}
    >
      <Stack spacing={2} sx={{ pt: 1 }}>
        {model.versions.map(({ version, stage }) => (
          <TextField
            key={version}
            label={`Version ${version} (${stage})`}
            value={shares[version]}
            onChange={(event) => setShares({ ...shares, [version]: event.target.value })}
            slotProps={{
              htmlInput: { inputMode: "decimal" },
              input: { endAdornment: <InputAdornment position="end">%</InputAdornment> },
            }}
          />
        ))}
        <Typography color={problem ? "error" : "textSecondary"} role="status">
          {problem ?? "Callers are spread over the versions in these proportions."}
        </Typography>
        <Button onClick={() => set({})} sx={{ alignSelf: "start" }}>
          All to production
        </Button>
        {setTraffic.isError && <FailedFace problem={asProblem(setTraffic.error)} />}
      </Stack>
    </Confirm>
  );
}
