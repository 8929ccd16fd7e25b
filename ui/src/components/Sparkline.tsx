/** A small line without axes: the shape of the last minutes. */
type Props = { values: readonly (number | null)[]; label: string; width?: number; height?: number };

export function Sparkline({ values, label, width = 96, height = 24 }: Props) {
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <path
        d={line(values, width, height)}
        fill="none"
        stroke="currentColor"
        strokeWidth={1.5}
        strokeLinejoin="round"
      />
    </svg>
  );
}

/** The line starts anew after a gap. */
export function line(values: readonly (number | null)[], width: number, height: number): string {
  const top = Math.max(...values.map((value) => value ?? 0), 1e-9);
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let pen = "M";
  return values
    .map((value, at) => {
      if (value === null) {
        pen = "M";
        return "";
      }
      const point = `${pen}${(at * step).toFixed(1)} ${(height - 1 - (value / top) * (height - 2)).toFixed(1)}`;
      pen = "L";
      return point;
    })
    .join("");
}
