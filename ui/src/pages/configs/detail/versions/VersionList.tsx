import Button from "@mui/material/Button";
import Radio from "@mui/material/Radio";
import type { Version } from "../../../../api/configs";
import { useMay } from "../../../../api/me";
import { DataTable, type Column } from "../../../../components/DataTable";
import { StatusChip } from "../../../../components/StatusChip";
import { Time } from "../../../../components/Time";

type Pair = { from: number; to: number };
type Props = Pair & {
  versions: Version[];
  onCompare: (pair: Pair) => void;
  onRollBack: (version: Version) => void;
};

export function VersionList({ versions, from, to, onCompare, onRollBack }: Props) {
  const mayConfigure = useMay("configure");
  const side = (name: keyof Pair, chosen: number): Column<Version> => ({
    name,
    header: name === "from" ? "Old" : "New",
    cell: ({ number }) => (
      <Radio
        size="small"
        checked={number === chosen}
        onChange={() => onCompare({ from, to, [name]: number })}
        slotProps={{ input: { "aria-label": `Compare ${name} version ${number}` } }}
        sx={{ p: 0.5 }}
      />
    ),
  });
  const wayBack: Column<Version> = {
    name: "back",
    header: "",
    cell: (version) =>
      !version.is_current &&
      !version.is_removal && (
        <Button disabled={!mayConfigure} onClick={() => onRollBack(version)}>
          Roll back
        </Button>
      ),
  };
  return (
    <DataTable
      label="Versions"
      columns={[side("from", from), side("to", to), ...ABOUT, wayBack]}
      rows={versions}
      rowKey={({ number }) => String(number)}
    />
  );
}

const ABOUT: Column<Version>[] = [
  { name: "number", header: "Version", cell: (version) => <Number version={version} /> },
  { name: "note", header: "Note", cell: ({ note }) => note || "–" },
  { name: "author", header: "By", cell: ({ author }) => author || "–", wideOnly: true },
  { name: "at", header: "When", cell: ({ at_ms }) => <Time at_ms={at_ms} /> },
  { name: "origin", header: "Came by", cell: ({ origin }) => origin, wideOnly: true },
  { name: "checks", header: "Checks", cell: ({ checks }) => checks || "–", wideOnly: true },
];

function Number({ version }: { version: Version }) {
  return (
    <>
      {version.number} {version.is_current && <StatusChip tone="good" label="current" />}
      {version.is_removal && <StatusChip tone="warn" label="removal" />}
    </>
  );
}
