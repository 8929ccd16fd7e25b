import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import {
  checkConfig,
  configQueries,
  publishConfig,
  type ConfigDocument,
  type Publication,
} from "../../../../api/configs";
import { ApiError } from "../../../../api/problem";
import { useNotice } from "../../../../app/Notices";
import { CodeEditor, type EditorHandle } from "../../../../components/CodeEditor";
import { useDebounced } from "../../../../components/useDebounced";
import { CheckReport } from "./CheckReport";
import { Conflict } from "./Conflict";
import { EditorBar } from "./EditorBar";
import { Refusal } from "./Refusal";
import { useDraft } from "./useDraft";
import { useLeaveGuard } from "./useLeaveGuard";
import { ValidationPanel } from "./ValidationPanel";

const PAUSE_MS = 350;

type Props = {
  id: string;
  /** What is live now: where the text begins, and the version it is published over. */
  live: Pick<ConfigDocument, "text" | "format" | "version">;
  onPublished?: () => void;
};

/** Write, see what is wrong as you type, check it against golden requests, publish it over the version you began from. */
export default function EditorTab({ id, live, onPublished }: Props) {
  const [draft, { write, restart, rebase }] = useDraft(live);
  const editor = useRef<EditorHandle>(null);
  const queries = useQueryClient();
  const say = useNotice();
  const settled = useDebounced(draft.text, PAUSE_MS);
  const validation = useQuery(configQueries.validation(id, { text: settled, format: draft.format }));
  const written = { text: draft.text, format: draft.format };
  const check = useMutation({ mutationFn: () => checkConfig(id, written) });
  const publish = useMutation({
    mutationFn: (wish: Pick<Publication, "note" | "force">) =>
      publishConfig(id, { ...written, expected_version: draft.base, ...wish }),
    onSuccess: async ({ version }) => {
      await queries.invalidateQueries({ queryKey: ["configs"] });
      restart();
      check.reset();
      say(`Version ${version.number} is live`);
      onPublished?.();
    },
  });
  useLeaveGuard(draft.isChanged);
  const change = (text: string): void => {
    write(text);
    check.reset();
    publish.reset();
  };
  const takeOver = (version: number): void => {
    rebase(version);
    publish.reset();
  };
  const dropMine = (): void => {
    restart();
    publish.reset();
    void queries.invalidateQueries({ queryKey: ["configs", id] });
  };
  const overtaken = newerVersion(draft.base, live.version, publish.error);
  return (
    <Stack spacing={2}>
      <EditorBar
        draft={draft}
        isFaulty={validation.data?.ok === false}
        isChecking={check.isPending}
        isPublishing={publish.isPending}
        onCheck={() => check.mutate()}
        onPublish={(note) => publish.mutate({ note, force: false })}
        onDrop={dropMine}
      />
      {overtaken !== null && (
        <Conflict {...{ id, base: draft.base, current: overtaken }} onTakeOver={takeOver} onDrop={dropMine} />
      )}
      <Refusal
        error={publish.error}
        isBusy={publish.isPending}
        onForce={(note) => publish.mutate({ note, force: true })}
      />
      <Box
        sx={{
          display: "grid",
          gap: 2,
          gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) 360px" },
        }}
      >
        <CodeEditor
          ref={editor}
          label={`Text of ${id}`}
          language={draft.format}
          value={draft.text}
          onChange={change}
          problems={validation.data?.problems}
          height="min(64vh, 640px)"
        />
        <ValidationPanel
          validation={validation}
          onPick={({ line, column }) => editor.current?.goTo(line ?? 1, column)}
        />
      </Box>
      <CheckReport check={check} />
    </Stack>
  );
}

/** The version that was published meanwhile, as the live events or the refusal of a publication tell. */
function newerVersion(base: number, live: number, error: unknown): number | null {
  const refused = error instanceof ApiError && error.status === 409 ? (error.problem.current ?? live) : live;
  const current = Math.max(live, refused);
  return current > base ? current : null;
}
