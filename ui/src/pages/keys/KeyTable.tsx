import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Typography from "@mui/material/Typography";
import { DataTable, type Column } from "../../components/DataTable";
import { clock, number } from "../../components/format";
import { StatusChip, type Tone } from "../../components/StatusChip";
import { Time } from "../../components/Time";
import { useNow } from "../../components/useNow";
import type { KeyCard } from "./api";
import { keyState, type KeyState } from "./keyState";

type Props = { keys: KeyCard[]; onRevoke?: (key: KeyCard) => void };

const TONES: Record<KeyState, Tone> = { live: "good", expired: "quiet", revoked: "bad" };

/** Every key by its id, never the key itself: that is shown once, when it is made. */
export function KeyTable({ keys, onRevoke }: Props) {
  const now = useNow();
  const stated: Column<KeyCard> = {
    name: "state",
    header: "State",
    by: (key) => keyState(key, now),
    cell: (key) => {
      const state = keyState(key, now);
      return <StatusChip tone={TONES[state]} label={state} />;
    },
  };
  const [named, ...others] = COLUMNS;
  const columns = [named!, stated, ...others, ...(onRevoke ? [revoking(onRevoke, now)] : [])];
  return <DataTable label="Keys" columns={columns} rows={keys} rowKey={({ key_id }) => key_id} />;
}

const COLUMNS: Column<KeyCard>[] = [
  {
    name: "name",
    header: "Name",
    by: ({ name }) => name,
    cell: ({ name, key_id, permissions }) => (
      <Box sx={{ minWidth: 120, maxWidth: 320, overflowWrap: "anywhere" }}>
        <strong>{name}</strong>
        <Typography variant="caption" component="div" color="textSecondary" className="mono">
          {key_id}
        </Typography>
        <Typography variant="caption" component="div" sx={{ display: { md: "none" }, whiteSpace: "normal" }}>
          may {permissions.join(", ")}
        </Typography>
      </Box>
    ),
  },
  { name: "may", header: "May", wideOnly: true, cell: ({ permissions }) => permissions.join(", ") },
  { name: "models", header: "Models", wideOnly: true, cell: ({ models }) => models.join(", ") || "all" },
  {
    name: "limit",
    header: "Limit",
    wideOnly: true,
    cell: ({ requests_per_second, burst }) =>
      requests_per_second > 0 ? `${requests_per_second}/s, burst ${burst}` : "none",
  },
  {
    name: "expires",
    header: "Expires",
    wideOnly: true,
    by: ({ expires_ms }) => expires_ms || Infinity,
    cell: ({ expires_ms }) => (expires_ms ? clock(expires_ms) : "never"),
  },
  {
    name: "requests",
    header: "Requests",
    numeric: true,
    wideOnly: true,
    by: ({ requests }) => requests,
    cell: ({ requests }) => number(requests),
  },
  {
    name: "used",
    header: "Last used",
    wideOnly: true,
    by: ({ last_used_ms }) => -last_used_ms,
    cell: ({ last_used_ms }) => (last_used_ms ? <Time at_ms={last_used_ms} /> : "never"),
  },
];

const revoking = (onRevoke: (key: KeyCard) => void, now_ms: number): Column<KeyCard> => ({
  name: "revoke",
  header: "",
  cell: (key) =>
    keyState(key, now_ms) === "live" &&
    (key.is_own ? (
      <Typography variant="caption" color="textSecondary" sx={{ whiteSpace: "nowrap" }}>
        in use by this gateway
      </Typography>
    ) : (
      <Button color="error" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
        Revoke…
      </Button>
    )),
});
