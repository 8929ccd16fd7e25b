/** A colour of the theme for each kind of step, the same in the graph and over time. */
const COLOURS: Record<string, string> = {
  init: "var(--mui-palette-text-secondary)",
  feature: "var(--mui-palette-primary-main)",
  model: "var(--mui-palette-secondary-main)",
  compute: "var(--mui-palette-warning-main)",
};

export const kindColour = (kind: string): string => COLOURS[kind] ?? "var(--mui-palette-info-main)";
