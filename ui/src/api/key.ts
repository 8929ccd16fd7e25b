/** The API key of this tab: in memory only, so that a reload forgets it and no script can find it stored. */

let key: string | null = null;
let refused = false;
const listeners = new Set<() => void>();

export const currentKey = (): string | null => key;
export const isKeyRefused = (): boolean => refused;

export function setKey(next: string | null): void {
  key = next;
  refused = false;
  tell();
}

/** The gateway answered 401: whoever shows the sign-in dialog is told. */
export function refuseKey(): void {
  refused = true;
  tell();
}

export function onKeyChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}
