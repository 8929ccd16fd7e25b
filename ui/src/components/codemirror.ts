/** What every code editor here has: history, brackets, line numbers, and the theme's colours. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export type Language = "yaml" | "json";

const colour = (name: string): string => `var(--mui-palette-${name})`;

const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: colour("primary-main") },
  { tag: [tags.string, tags.special(tags.string)], color: colour("success-main") },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: colour("secondary-main") },
  { tag: tags.comment, color: colour("text-secondary"), fontStyle: "italic" },
  { tag: tags.invalid, color: colour("error-main") },
]);

const look = EditorView.theme({
  "&": { fontSize: "13px", color: colour("text-primary"), backgroundColor: colour("background-paper") },
  ".cm-content": { caretColor: colour("text-primary") },
  ".cm-cursor": { borderLeftColor: colour("text-primary") },
  "&.cm-focused": { outline: "none" },
  ".cm-gutters": {
    backgroundColor: colour("background-default"),
    color: colour("text-secondary"),
    borderRight: `1px solid ${colour("divider")}`,
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: colour("action-hover") },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: colour("action-selected"),
  },
  ".cm-tooltip": { backgroundColor: colour("background-paper"), border: `1px solid ${colour("divider")}` },
  ".cm-panels": { backgroundColor: colour("background-default"), color: colour("text-primary") },
});

export function editing(language: Language, label: string, onChange: (text: string) => void): Extension[] {
  return [
    lineNumbers(),
    history(),
    bracketMatching(),
    indentOnInput(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    lintGutter(),
    EditorState.tabSize.of(2),
    keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
    language === "json" ? json() : yaml(),
    syntaxHighlighting(highlight),
    look,
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(update.state.doc.toString());
    }),
  ];
}
