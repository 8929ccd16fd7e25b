import UploadIcon from "@mui/icons-material/UploadFileOutlined";
import Button from "@mui/material/Button";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useMay } from "../../api/me";
import { EmptyFace } from "../../components/faces";
import { Page } from "../../components/Page";
import { PageState } from "../../components/PageState";
import { modelsQuery } from "./api";
import { ModelTable } from "./ModelTable";
import { UploadDialog } from "./UploadDialog";

/** Every model of the registry. */
export default function ModelsPage() {
  const query = useQuery(modelsQuery);
  const [isUploading, setUploading] = useState(false);
  const mayUpload = useMay("upload");
  const upload = mayUpload && (
    <Button variant="contained" startIcon={<UploadIcon />} onClick={() => setUploading(true)}>
      Upload a model
    </Button>
  );
  return (
    <Page title="Models" actions={upload}>
      <PageState
        query={query}
        isEmpty={({ models }) => models.length === 0}
        empty={
          <EmptyFace
            title="No model is registered yet"
            text="Upload an ONNX file here, or from the command line:"
            command="inferflow models upload NAME model.onnx"
          />
        }
      >
        {({ models }) => <ModelTable models={models} />}
      </PageState>
      {isUploading && <UploadDialog onClose={() => setUploading(false)} />}
    </Page>
  );
}
