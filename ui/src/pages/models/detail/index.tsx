import UploadIcon from "@mui/icons-material/UploadFileOutlined";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "react-router";
import { useMay } from "../../../api/me";
import { EmptyFace } from "../../../components/faces";
import { Page } from "../../../components/Page";
import { PageState } from "../../../components/PageState";
import { modelQuery, type Model } from "../api";
import { TrafficBar } from "../TrafficBar";
import { UploadDialog } from "../UploadDialog";
import { TrafficDialog } from "./TrafficDialog";
import { VersionTable } from "./VersionTable";

/** One model: its versions, their stages and traffic, and what they take and give. */
export default function ModelPage() {
  const { name = "" } = useParams();
  const query = useQuery(modelQuery(name));
  return (
    <Page title={name} actions={query.data && <Actions model={query.data} />}>
      <PageState
        query={query}
        isEmpty={({ versions }) => versions.length === 0}
        empty={
          <EmptyFace title="No version of it is left" command={`inferflow models upload ${name} model.onnx`}>
            <Button component={Link} to="/models">
              To all models
            </Button>
          </EmptyFace>
        }
      >
        {(model) => (
          <Stack spacing={2}>
            <TrafficBar model={model} />
            <VersionTable model={model} />
          </Stack>
        )}
      </PageState>
    </Page>
  );
}

function Actions({ model }: { model: Model }) {
  const [open, setOpen] = useState<"upload" | "traffic" | null>(null);
  const mayUpload = useMay("upload");
  const mayChange = useMay("admin");
  const close = (): void => setOpen(null);
  return (
    <>
      {mayChange && <Button onClick={() => setOpen("traffic")}>Set traffic…</Button>}
      {mayUpload && (
        <Button variant="contained" startIcon={<UploadIcon />} onClick={() => setOpen("upload")}>
          Upload a version
        </Button>
      )}
      {open === "upload" && <UploadDialog model={model.name} onClose={close} />}
      {open === "traffic" && <TrafficDialog model={model} onClose={close} />}
    </>
  );
}
