import Box from "@mui/material/Box";
import { setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useImperativeHandle, useRef, type Ref } from "react";
import type { Finding } from "../api/problem";
import { editing, type Language } from "./codemirror";

export type EditorHandle = { goTo: (line: number, column: number | null) => void };

type Props = {
  label: string;
  language: Language;
  value: string;
  onChange: (text: string) => void;
  /** Marked at their line and column. */
  problems?: readonly Finding[];
  height?: string;
  ref?: Ref<EditorHandle>;
};

const NO_PROBLEMS: readonly Finding[] = [];

/** A text with lines, colours and marks. Escape, then Tab leaves it with the keyboard. */
export function CodeEditor({
  label,
  language,
  value,
  onChange,
  problems = NO_PROBLEMS,
  height = "480px",
  ref,
}: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(onChange);
  const first = useRef(value);
  useEffect(() => {
    changed.current = onChange;
  }, [onChange]);

  useEffect(() => {
    const extensions = editing(language, label, (text) => changed.current(text));
    const made = new EditorView({
      parent: host.current as HTMLElement,
      state: EditorState.create({ doc: first.current, extensions }),
    });
    view.current = made;
    return () => {
      first.current = made.state.doc.toString();
      made.destroy();
    };
  }, [language, label]);

  useEffect(() => {
    const open = view.current;
    if (open && open.state.doc.toString() !== value) {
      open.dispatch({ changes: { from: 0, to: open.state.doc.length, insert: value } });
    }
  }, [value]);

  useEffect(() => {
    const open = view.current;
    if (open) open.dispatch(setDiagnostics(open.state, marks(open.state.doc, problems)));
  }, [problems]);

  useImperativeHandle(ref, () => ({
    goTo: (line, column) => {
      const open = view.current;
      if (!open) return;
      const anchor = offset(open.state.doc, line, column);
      open.dispatch({ selection: { anchor }, scrollIntoView: true });
      open.focus();
    },
  }));

  return (
    <Box
      ref={host}
      sx={{
        border: 1,
        borderColor: "divider",
        borderRadius: 1,
        overflow: "hidden",
        "&:focus-within": { borderColor: "primary.main" },
        "& .cm-editor": { height },
        "& .cm-scroller": { overflow: "auto" },
      }}
    />
  );
}

/** Places of a text that has since been shortened are moved to its end. */
function offset(doc: Text, line: number, column: number | null): number {
  const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(found.from + Math.max((column ?? 1) - 1, 0), found.to);
}

export function marks(doc: Text, problems: readonly Finding[]): Diagnostic[] {
  return problems
    .filter((problem) => problem.line !== null)
    .map((problem) => {
      const from = offset(doc, problem.line ?? 1, problem.column);
      return {
        from,
        to: Math.max(doc.lineAt(from).to, from),
        severity: problem.severity === "error" ? ("error" as const) : ("info" as const),
        message: problem.hint ? `${problem.what}\n${problem.hint}` : problem.what,
      };
    })
    .sort((a, b) => a.from - b.from);
}
