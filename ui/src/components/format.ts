/** Numbers and times as people read them. A dash stands for what is not known. */

const DASH = "–";

export function number(value: number | string | null | undefined, digits = 4): string {
  if (value === null || value === undefined) return DASH;
  if (typeof value === "string") return value;
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(2);
  return value.toLocaleString("en-GB", { maximumSignificantDigits: digits, useGrouping: false });
}

export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return DASH;
  if (value >= 1000) return `${(value / 1000).toFixed(2)} s`;
  if (value >= 10) return `${value.toFixed(0)} ms`;
  return `${value.toFixed(value >= 1 ? 1 : 2)} ms`;
}

export const microseconds = (value: number | null | undefined): string =>
  milliseconds(value === null || value === undefined ? value : value / 1000);

export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined) return DASH;
  const value = share * 100;
  return `${value === 0 || value >= 10 ? value.toFixed(0) : value.toFixed(value >= 1 ? 1 : 2)} %`;
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return DASH;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = value > 0 ? Math.min(Math.floor(Math.log2(value) / 10), units.length - 1) : 0;
  const amount = value / 1024 ** step;
  return `${step === 0 || amount >= 100 ? amount.toFixed(0) : amount.toFixed(1)} ${units[step]}`;
}

/** A length of time in its two largest units. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return DASH;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 86400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(" ");
}

export function clock(at_ms: number | null | undefined): string {
  if (!at_ms) return DASH;
  return new Date(at_ms).toLocaleString("sv-SE");
}

/** How long ago, with now given so that it can be checked. */
export const ago = (at_ms: number | null | undefined, now_ms: number): string =>
  at_ms ? `${wholeSeconds(Math.max(0, Math.round((now_ms - at_ms) / 1000)))} ago` : DASH;

const wholeSeconds = (seconds: number): string => (seconds < 60 ? `${seconds} s` : duration(seconds));
