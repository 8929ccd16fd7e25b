import { useState } from "react";
import type { ConfigDocument, Format } from "../../../../api/configs";

/** A text being changed, and the version it was begun from. */
export type Draft = { text: string; format: Format; base: number; isChanged: boolean };

type Live = Pick<ConfigDocument, "text" | "format" | "version">;

export type DraftActions = {
  write: (text: string) => void;
  /** Throws the changes away and begins from what is live. */
  restart: () => void;
  /** Keeps the changes, to be published over this version. */
  rebase: (version: number) => void;
};

/** Follows what is live until the first change; from then on the draft stays as it is. */
export function useDraft(live: Live): [Draft, DraftActions] {
  const [own, setOwn] = useState<{ text: string; base: number } | null>(null);
  const text = own?.text ?? live.text;
  const base = own?.base ?? live.version;
  const write = (next: string): void => {
    if (next === live.text && base === live.version) setOwn(null);
    else if (next !== text) setOwn({ text: next, base });
  };
  const rebase = (version: number): void => setOwn({ text, base: version });
  return [
    { text, format: live.format, base, isChanged: text !== live.text },
    { write, rebase, restart: () => setOwn(null) },
  ];
}
