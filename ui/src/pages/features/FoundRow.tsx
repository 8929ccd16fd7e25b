import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import { DataTable, type Column } from "../../components/DataTable";
import { ago, clock, duration } from "../../components/format";
import { StatusChip, type Tone } from "../../components/StatusChip";
import { useNow } from "../../components/useNow";
import type { Entity, FeatureRow, GroupRow } from "./api";
import { valueText } from "../../components/valueText";

const TONES: Record<string, Tone> = {
  real: "good",
  partial: "warn",
  expired: "warn",
  missing: "bad",
  default: "busy",
};

/** What the store has under one key: per group how fresh it is, and per feature its value and state. */
export function FoundRow({ row, entity }: { row: FeatureRow; entity: Entity }) {
  const name = entity.keys.map((key, at) => `${key} ${row.key[at]}`).join(", ");
  return (
    <Paper variant="outlined" component="section" aria-label={name} sx={{ p: 2 }}>
      <Typography variant="h3" gutterBottom>
        {name}
      </Typography>
      <Stack spacing={2}>
        {Object.entries(row.groups).map(([group, found]) => (
          <Group key={group} name={group} found={found} />
        ))}
      </Stack>
    </Paper>
  );
}

function Group({ name, found }: { name: string; found: GroupRow }) {
  const values = Object.entries(found.values).map(([feature, { value, state }]) => ({
    feature,
    value,
    state,
  }));
  return (
    <Stack spacing={1}>
      <Stack direction="row" spacing={1} useFlexGap sx={{ alignItems: "center", flexWrap: "wrap" }}>
        <strong>{name}</strong>
        <StatusChip tone={TONES[found.state] ?? "quiet"} label={found.state} />
        <Freshness found={found} />
      </Stack>
      {values.length > 0 && (
        <DataTable
          label={`Values of ${name}`}
          columns={COLUMNS}
          rows={values}
          rowKey={({ feature }) => feature}
        />
      )}
    </Stack>
  );
}

/** How old the values are, and how long they are good for. */
function Freshness({ found: { written_ms, expires_ms } }: { found: GroupRow }): ReactNode {
  const now = useNow();
  if (written_ms === null) return null;
  const left_s = expires_ms === null ? null : (expires_ms - now) / 1000;
  return (
    <Typography variant="caption" color="textSecondary" title={clock(written_ms)}>
      written {ago(written_ms, now)}
      {left_s === null && ", kept for ever"}
      {left_s !== null &&
        (left_s > 0 ? `, expires in ${duration(left_s)}` : `, expired ${duration(-left_s)} ago`)}
    </Typography>
  );
}

type Value = { feature: string; value: unknown; state: string };

const COLUMNS: Column<Value>[] = [
  { name: "feature", header: "Feature", cell: ({ feature }) => <span className="mono">{feature}</span> },
  {
    name: "value",
    header: "Value",
    numeric: true,
    cell: ({ value }) => <span className="mono">{valueText(value, 6)}</span>,
  },
  {
    name: "state",
    header: "State",
    cell: ({ state }) => <StatusChip tone={TONES[state] ?? "quiet"} label={state} />,
  },
];
