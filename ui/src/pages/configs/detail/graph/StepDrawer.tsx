import CloseIcon from "@mui/icons-material/Close";
import Box from "@mui/material/Box";
import Chip from "@mui/material/Chip";
import Drawer from "@mui/material/Drawer";
import IconButton from "@mui/material/IconButton";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { Plan, PlanColumn, PlanNode } from "../../../../api/configs";
import { DataTable, type Column } from "../../../../components/DataTable";
import { Facts } from "../../../../components/Facts";
import { KIND_WORDS } from "./kinds";
import { writerOf } from "./lineage";

type Props = { plan: Plan; step: PlanNode | undefined; onPick: (step: string) => void; onClose: () => void };

/** One step: what it reads and from whom, what it writes and for whom. */
export function StepDrawer({ plan, step, onPick, onClose }: Props) {
  return (
    <Drawer
      anchor="right"
      open={step !== undefined}
      onClose={onClose}
      slotProps={{ paper: { sx: { width: { xs: "100%", sm: 560 }, p: 2.5, pt: 7 }, "aria-label": step?.id } }}
    >
      {step && <StepDetails {...{ plan, step, onPick, onClose }} />}
    </Drawer>
  );
}

function StepDetails({ plan, step, onPick, onClose }: Props & { step: PlanNode }) {
  return (
    <Stack spacing={2.5}>
      <Box sx={{ display: "flex", alignItems: "center", gap: 1 }}>
        <Typography variant="h1" component="h2">
          {step.id}
        </Typography>
        <Chip label={KIND_WORDS[step.kind]} variant="outlined" />
        <Box sx={{ flexGrow: 1 }} />
        <IconButton aria-label="Close" onClick={onClose}>
          <CloseIcon />
        </IconButton>
      </Box>
      <Facts facts={factsOf(step)} />
      <section>
        <Typography variant="h3" gutterBottom>
          Writes
        </Typography>
        <DataTable
          label="Columns it writes"
          columns={written(onPick)}
          rows={step.writes}
          rowKey={(column) => column.column}
        />
      </section>
      <section>
        <Typography variant="h3" gutterBottom>
          Reads
        </Typography>
        <Reads plan={plan} step={step} onPick={onPick} />
      </section>
    </Stack>
  );
}

function factsOf(step: PlanNode): [string, string][] {
  const sources = [...new Set(step.writes.map(({ source }) => source))];
  return [
    ["values from", sources.join(", ") || "–"],
    ["once per", step.unit === "slates" ? "slate" : "target"],
    ["level", String(step.level)],
    ...Object.entries(step.facts),
  ];
}

const written = (onPick: (step: string) => void): Column<PlanColumn>[] => [
  { name: "column", header: "Column", cell: (column) => <Written column={column} /> },
  {
    name: "readers",
    header: "Read by",
    cell: ({ read_by }) => <StepChips steps={read_by} onPick={onPick} />,
  },
];

function Written({ column: { column, dtype, width } }: { column: PlanColumn }) {
  return (
    <>
      <code className="mono">{column}</code>
      <Typography variant="caption" component="div" color="textSecondary">
        {width > 1 && !dtype.includes("[") ? `${dtype} × ${width}` : dtype}
      </Typography>
    </>
  );
}

function StepChips({ steps, onPick }: { steps: string[]; onPick: (step: string) => void }) {
  if (steps.length === 0) return <Typography variant="caption">the response</Typography>;
  return (
    <Box sx={{ display: "flex", flexWrap: "wrap", gap: 0.5 }}>
      {steps.map((step) => (
        <Chip key={step} label={step} onClick={() => onPick(step)} />
      ))}
    </Box>
  );
}

function Reads({ plan, step, onPick }: { plan: Plan; step: PlanNode; onPick: (step: string) => void }) {
  if (step.reads.length === 0)
    return <Typography color="textSecondary">Nothing: it starts from the request.</Typography>;
  return (
    <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
      {step.reads.map((column) => {
        const writer = writerOf(plan, column);
        return (
          <Box
            component="li"
            key={column}
            sx={{ display: "flex", justifyContent: "space-between", gap: 1, py: 0.5 }}
          >
            <code className="mono">{column}</code>
            {writer && <Chip label={writer} onClick={() => onPick(writer)} />}
          </Box>
        );
      })}
    </Box>
  );
}
