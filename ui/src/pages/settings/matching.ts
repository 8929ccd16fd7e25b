/** Which settings a search finds: every word must be somewhere in its name, meaning or variables. */
import type { Setting } from "./api";

export const isChanged = (setting: Setting): boolean => setting.source !== "default";

export function matching(settings: Setting[], text: string, changedOnly: boolean): Setting[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter(
    (setting) =>
      (!changedOnly || isChanged(setting)) && words.every((word) => searched(setting).includes(word)),
  );
}

const searched = ({ name, meaning, environment }: Setting): string =>
  [name, meaning, ...environment].join(" ").toLowerCase();
