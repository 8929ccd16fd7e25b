import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import { Handle, Position, type Node, type NodeProps } from "@xyflow/react";
import type { PlanNode } from "../../../../api/configs";
import type { NodeMetrics } from "../../../../api/types";
import { useLive } from "../../../../app/LiveProvider";
import { milliseconds, percent } from "../../../../components/format";
import { kindColour } from "../../../../components/run/kinds";
import { KIND_WORDS } from "./kinds";
import { NODE_HEIGHT, NODE_WIDTH, type Direction } from "./layout";

export type StepData = {
  config: string;
  step: PlanNode;
  direction: Direction;
  isPicked: boolean;
  onPick: (step: string) => void;
};
export type StepFlowNode = Node<StepData, "step">;

/** Edges end there; nothing can be drawn from it. */
const UNSEEN = { opacity: 0 };

/** One step of the graph, with how it does this second. A button, so that the keyboard reaches it. */
export function StepNode({ data: { config, step, direction, isPicked, onPick } }: NodeProps<StepFlowNode>) {
  const metrics = useLive((live) => live.latest?.configs[config]?.nodes[step.id]);
  const isDown = direction === "TB";
  const word = KIND_WORDS[step.kind];
  const isFailing = (metrics?.error_rate ?? 0) > 0;
  return (
    <>
      <Handle
        type="target"
        position={isDown ? Position.Top : Position.Left}
        isConnectable={false}
        style={UNSEEN}
      />
      <ButtonBase
        className="nodrag nopan"
        onClick={() => onPick(step.id)}
        title="Show its columns"
        aria-pressed={isPicked}
        sx={{
          width: NODE_WIDTH,
          height: NODE_HEIGHT,
          display: "block",
          textAlign: "left",
          p: 1.25,
          pl: 1.75,
          borderRadius: 1.5,
          border: 1,
          borderColor: isFailing ? "error.main" : isPicked ? "primary.main" : "divider",
          boxShadow: `inset 4px 0 0 ${kindColour(step.kind)}`,
          bgcolor: "background.paper",
          outlineOffset: 2,
        }}
      >
        <Typography variant="h3" component="span" noWrap title={step.id} sx={{ display: "block" }}>
          {step.id}
        </Typography>
        <Typography variant="caption" color="textSecondary" noWrap sx={{ display: "block" }}>
          {word} · {step.writes.length} {step.writes.length === 1 ? "column" : "columns"}
        </Typography>
        <Figures metrics={metrics} />
      </ButtonBase>
      <Handle
        type="source"
        position={isDown ? Position.Bottom : Position.Right}
        isConnectable={false}
        style={UNSEEN}
      />
    </>
  );
}

function Figures({ metrics }: { metrics: NodeMetrics | undefined }) {
  const isFailing = (metrics?.error_rate ?? 0) > 0;
  return (
    <Box sx={{ display: "grid", gridTemplateColumns: "1fr 1fr", columnGap: 1, mt: 0.5, fontSize: 11.5 }}>
      <Figure name="p50" value={milliseconds(metrics?.p50_ms)} />
      <Figure name="p99" value={milliseconds(metrics?.p99_ms)} />
      <Figure name="errors" value={percent(metrics?.error_rate)} isBad={isFailing} />
      {metrics?.cache_hit_rate != null && <Figure name="cache" value={percent(metrics.cache_hit_rate)} />}
    </Box>
  );
}

function Figure({ name, value, isBad = false }: { name: string; value: string; isBad?: boolean }) {
  return (
    <span>
      <Box component="span" sx={{ color: "text.secondary" }}>
        {name}
      </Box>{" "}
      <Box component="span" sx={{ fontWeight: 600, color: isBad ? "error.main" : "text.primary" }}>
        {value}
      </Box>
    </span>
  );
}
