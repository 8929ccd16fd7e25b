import AddIcon from "@mui/icons-material/Add";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useMay } from "../../api/me";
import { EmptyFace } from "../../components/faces";
import { Page } from "../../components/Page";
import { PageState } from "../../components/PageState";
import { auditQuery, keysQuery, type KeyCard } from "./api";
import { AuditTable } from "./AuditTable";
import { CreateKeyDialog } from "./CreateKeyDialog";
import { KeyTable } from "./KeyTable";
import { RevokeDialog } from "./RevokeDialog";

/** Who may call, and who changed what. */
export default function KeysPage() {
  const keys = useQuery(keysQuery);
  const audit = useQuery(auditQuery);
  const [isCreating, setCreating] = useState(false);
  const [ending, setEnding] = useState<KeyCard | null>(null);
  const mayChange = useMay("admin");
  const create = mayChange && (
    <Button variant="contained" startIcon={<AddIcon />} onClick={() => setCreating(true)}>
      Create a key
    </Button>
  );
  return (
    <Page title="Keys" actions={create}>
      <Stack spacing={3}>
        <PageState
          query={keys}
          isEmpty={(answer) => answer.keys.length === 0}
          empty={
            <EmptyFace
              title="No key has been made yet"
              text="Create one here, or from the command line:"
              command="inferflow keys create NAME --may inference"
            />
          }
        >
          {(answer) => <KeyTable keys={answer.keys} onRevoke={mayChange ? setEnding : undefined} />}
        </PageState>
        <Stack spacing={1}>
          <Typography variant="h2">Changes</Typography>
          <PageState
            query={audit}
            isEmpty={({ entries }) => entries.length === 0}
            empty={<Typography color="textSecondary">Nothing has been changed yet.</Typography>}
          >
            {({ entries }) => <AuditTable entries={entries} />}
          </PageState>
        </Stack>
      </Stack>
      {isCreating && <CreateKeyDialog onClose={() => setCreating(false)} />}
      {ending && <RevokeDialog card={ending} onClose={() => setEnding(null)} />}
    </Page>
  );
}
