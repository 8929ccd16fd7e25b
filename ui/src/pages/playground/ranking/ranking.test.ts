import { answer } from "../../../test/fixtures/runs";
import { numericColumns, rankedBy } from "./ranking";

const SCORE = "blend:final_score";

test("the highest number is first, and a target without one is last", () => {
  const scores = answer([0.2, 0.9, 0.5]);
  const [first] = scores.targets ?? [];
  if (first) first.scores[SCORE] = "NaN";
  expect(rankedBy(SCORE, scores, null).map(({ id, rank }) => [id, rank])).toEqual([
    ["12", 1],
    ["13", 2],
    ["11", null],
  ]);
});

test("against a baseline a target has gained the places it rose", () => {
  const ranked = rankedBy(SCORE, answer([0.95, 0.9, 0.5]), answer([0.2, 0.9, 0.5]));
  expect(ranked.map(({ id, gained }) => [id, gained])).toEqual([
    ["11", 2],
    ["12", -1],
    ["13", -1],
  ]);
  expect(ranked[0]?.deltas[SCORE]).toBeCloseTo(0.75);
  expect(ranked[1]?.deltas).toEqual({});
});

test("texts are not ranked by", () => {
  expect(numericColumns(answer())).toEqual([SCORE]);
});
