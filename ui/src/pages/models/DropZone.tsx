import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Typography from "@mui/material/Typography";
import { useRef, useState, type DragEvent } from "react";
import { bytes } from "../../components/format";

type Props = { files: File[]; onFiles: (files: File[]) => void; disabled?: boolean };

/** Takes files that are dropped on it or chosen. */
export function DropZone({ files, onFiles, disabled }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    if (!disabled && event.dataTransfer.files.length > 0) onFiles([...event.dataTransfer.files]);
  };
  return (
    <Box
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      sx={{
        p: 3,
        textAlign: "center",
        border: "1px dashed",
        borderColor: isOver ? "primary.main" : "divider",
        bgcolor: isOver ? "action.hover" : undefined,
        borderRadius: 2,
      }}
    >
      <Button variant="outlined" disabled={disabled} onClick={() => input.current?.click()}>
        Choose files
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Model files"
        onChange={(event) => onFiles([...(event.target.files ?? [])])}
      />
      <Typography color="textSecondary" sx={{ mt: 1 }}>
        or drop them here: model.onnx, and what lies beside it.
      </Typography>
      {files.map((file) => (
        <Typography key={file.name} className="mono" sx={{ mt: 1 }}>
          {file.name}, {bytes(file.size)}
        </Typography>
      ))}
    </Box>
  );
}
