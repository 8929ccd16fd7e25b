import TextField from "@mui/material/TextField";
import { lazy, Suspense, useState } from "react";
import { useNavigate } from "react-router";
import { LoadingFace } from "../../../components/faces";
import { Page } from "../../../components/Page";
import { STARTER } from "./starter";

const EditorTab = lazy(() => import("../detail/editor/EditorTab"));

/** A config that does not exist yet: its id, and a text to begin from. */
export default function NewConfigPage() {
  const [id, setId] = useState("");
  const navigate = useNavigate();
  const isNamed = ID.test(id);
  return (
    <Page title="New config">
      <TextField
        label="Id"
        value={id}
        onChange={(event) => setId(event.target.value.trim())}
        error={id !== "" && !isNamed}
        helperText="Letters, digits, dots, dashes and underscores. Requests name it."
        sx={{ mb: 2, width: { xs: "100%", sm: 360 } }}
      />
      {isNamed && (
        <Suspense fallback={<LoadingFace />}>
          <EditorTab
            id={id}
            live={STARTER}
            onPublished={() => void navigate(`/configs/${encodeURIComponent(id)}`)}
          />
        </Suspense>
      )}
    </Page>
  );
}

const ID = /^[\w.-]{1,128}$/;
