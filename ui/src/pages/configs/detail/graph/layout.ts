/** Places the steps of a plan in the direction of the data, each after what it reads from. */
import dagre from "@dagrejs/dagre";
import type { Plan, PlanNode } from "../../../../api/configs";

export const NODE_WIDTH = 200;
export const NODE_HEIGHT = 104;

/** To the right, or down where there is little room. */
export type Direction = "LR" | "TB";
export type Placed = { node: PlanNode; x: number; y: number };

export function layout({ nodes, edges }: Pick<Plan, "nodes" | "edges">, direction: Direction): Placed[] {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: direction, nodesep: 28, ranksep: 48 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const { from, to } of edges) graph.setEdge(from, to);
  dagre.layout(graph);
  return nodes.map((node) => {
    const { x, y } = graph.node(node.id) as { x: number; y: number };
    return { node, x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 };
  });
}
