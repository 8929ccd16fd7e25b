import { plan } from "../../../../test/fixtures/configs";
import { layout } from "./layout";

test("to the right, every step is right of what it reads from", () => {
  const at = new Map(layout(plan(), "LR").map(({ node, x }) => [node.id, x]));
  for (const { from, to } of plan().edges) expect(at.get(to)).toBeGreaterThan(at.get(from) as number);
});

test("down, every step is below what it reads from", () => {
  const at = new Map(layout(plan(), "TB").map(({ node, y }) => [node.id, y]));
  for (const { from, to } of plan().edges) expect(at.get(to)).toBeGreaterThan(at.get(from) as number);
});
