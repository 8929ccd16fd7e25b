import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import type { Answer, Value } from "../../../api/runs";
import { DataTable, type Column } from "../../../components/DataTable";
import { valueText } from "../../../components/valueText";

type Group = { index: number; members: string; scores: Record<string, Value>; error: string | null };

/** Pairs or slates, where the config scores those. */
export function GroupTable({ answer }: { answer: Answer }) {
  const groups = groupsOf(answer);
  if (groups.length === 0) return null;
  const names = Object.keys(groups.find(({ scores }) => Object.keys(scores).length > 0)?.scores ?? {});
  const label = answer.pairs ? "Pairs" : "Slates";
  const columns: Column<Group>[] = [
    { name: "index", header: "#", numeric: true, narrow: true, cell: ({ index }) => index },
    {
      name: "members",
      header: answer.pairs ? "Pair" : "Targets",
      cell: ({ members }) => <code className="mono">{members}</code>,
    },
    ...names.map((name): Column<Group> => ({
      name,
      header: name,
      numeric: true,
      by: ({ scores }) => Number(scores[name]),
      cell: ({ scores }) => valueText(scores[name]),
    })),
    { name: "error", header: "Error", cell: ({ error }) => error ?? "–", wideOnly: true },
  ];
  return (
    <Box sx={{ "* + &": { mt: 3 } }}>
      <Typography variant="h2" gutterBottom>
        {label}
      </Typography>
      <DataTable label={label} columns={columns} rows={groups} rowKey={({ index }) => String(index)} />
    </Box>
  );
}

function groupsOf({ pairs, slates }: Answer): Group[] {
  if (pairs)
    return pairs.map(({ first, second, ...rest }) => ({ ...rest, members: `${first} over ${second}` }));
  return (slates ?? []).map(({ targets, ...rest }) => ({ ...rest, members: targets.join(", ") }));
}
