import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import MenuItem from "@mui/material/MenuItem";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { useState } from "react";
import { asProblem } from "../../api/problem";
import { FailedFace } from "../../components/faces";
import { STAGES } from "./api";
import { DropZone } from "./DropZone";
import { Uploaded } from "./Uploaded";
import { UploadProgress } from "./UploadProgress";
import { useUpload } from "./useUpload";

type Props = {
  /** Given, it is a new version of this one. */
  model?: string;
  onClose: () => void;
};

/** Files become a version of a model: chosen, sent, checked by the registry, and shown as it was understood. */
export function UploadDialog({ model, onClose }: Props) {
  const upload = useUpload();
  const [files, setFiles] = useState<File[]>([]);
  const [name, setName] = useState(model ?? "");
  const [version, setVersion] = useState("");
  const [stage, setStage] = useState<string>("dev");
  const isReady = files.length > 0 && name.trim() !== "" && !upload.isPending;
  const close = (): void => {
    upload.cancel();
    onClose();
  };
  const title = model ? `Upload a version of ${model}` : "Upload a model";
  return (
    <Dialog open onClose={close} maxWidth="sm" fullWidth aria-labelledby="upload-title">
      <DialogTitle id="upload-title">{title}</DialogTitle>
      <DialogContent>
        {upload.data ? (
          <Uploaded version={upload.data} />
        ) : (
          <Stack spacing={2} sx={{ pt: 1 }}>
            <DropZone files={files} onFiles={setFiles} disabled={upload.isPending} />
            <TextField
              label="Model"
              required
              value={name}
              disabled={model !== undefined || upload.isPending}
              onChange={(event) => setName(event.target.value)}
            />
            <Stack direction="row" spacing={2}>
              <TextField
                label="Version"
                placeholder="the next one"
                value={version}
                disabled={upload.isPending}
                onChange={(event) => setVersion(event.target.value)}
                sx={{ flex: 1 }}
              />
              <TextField
                select
                label="Stage"
                value={stage}
                disabled={upload.isPending}
                onChange={(event) => setStage(event.target.value)}
                sx={{ flex: 1 }}
              >
                {STAGES.map((each) => (
                  <MenuItem key={each} value={each}>
                    {each}
                  </MenuItem>
                ))}
              </TextField>
            </Stack>
            {upload.isPending && <UploadProgress sent={upload.sent} />}
            {upload.isError && !isCancelled(upload.error) && <FailedFace problem={asProblem(upload.error)} />}
          </Stack>
        )}
      </DialogContent>
      <DialogActions>
        <Button onClick={close} color="inherit">
          {upload.data ? "Close" : "Cancel"}
        </Button>
        {!upload.data && (
          <Button
            variant="contained"
            disabled={!isReady}
            onClick={() => upload.mutate({ name: name.trim(), files, version: version.trim(), stage })}
          >
            Upload
          </Button>
        )}
      </DialogActions>
    </Dialog>
  );
}

const isCancelled = (error: Error): boolean => error.name === "AbortError";
