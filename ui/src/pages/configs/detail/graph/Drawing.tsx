import Box from "@mui/material/Box";
import { useColorScheme, type Theme } from "@mui/material/styles";
import useMediaQuery from "@mui/material/useMediaQuery";
import { Background, Controls, MarkerType, ReactFlow, type Edge } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useMemo } from "react";
import type { Plan } from "../../../../api/configs";
import { layout, NODE_HEIGHT, NODE_WIDTH } from "./layout";
import { StepNode, type StepFlowNode } from "./StepNode";

const NODE_TYPES = { step: StepNode };

const FRAME = {
  height: { xs: 560, md: "min(62vh, 640px)" },
  border: 1,
  borderColor: "divider",
  borderRadius: 2,
  overflow: "hidden",
  "& .react-flow": { "--xy-background-color": "transparent" },
} as const;

type Props = { plan: Plan; picked: string | null; onPick: (step: string) => void };

/** The plan as a picture, left to right, or down on a narrow screen. The edges of a picked step stand out. */
export function Drawing({ plan, picked, onPick }: Props) {
  const { mode } = useColorScheme();
  const direction = useMediaQuery((theme: Theme) => theme.breakpoints.down("sm")) ? "TB" : "LR";
  const placed = useMemo(() => layout(plan, direction), [plan, direction]);
  const nodes = placed.map(({ node, x, y }): StepFlowNode => ({
    id: node.id,
    type: "step",
    position: { x, y },
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
    data: { config: plan.id, step: node, direction, isPicked: node.id === picked, onPick },
  }));
  return (
    <Box sx={FRAME}>
      <ReactFlow
        key={direction}
        nodes={nodes}
        edges={edgesOf(plan, picked)}
        nodeTypes={NODE_TYPES}
        colorMode={mode ?? "system"}
        fitView
        fitViewOptions={{ padding: 0.08, maxZoom: 1.1 }}
        minZoom={0.2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        proOptions={{ hideAttribution: true }}
        aria-label={`Steps of ${plan.id}`}
      >
        <Background gap={20} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </Box>
  );
}

function edgesOf(plan: Plan, picked: string | null): Edge[] {
  return plan.edges.map(({ from, to }) => {
    const isNear = picked === from || picked === to;
    const colour = isNear ? "var(--mui-palette-primary-main)" : "var(--mui-palette-text-secondary)";
    return {
      id: `${from}→${to}`,
      source: from,
      target: to,
      style: { stroke: colour, strokeWidth: isNear ? 2 : 1.2 },
      markerEnd: { type: MarkerType.ArrowClosed, color: colour, width: 16, height: 16 },
    };
  });
}
