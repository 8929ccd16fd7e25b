import { matrix } from "../../../test/fixtures/runs";
import { moments, reach } from "./moments";

test("columns come in the order in which their steps ended", () => {
  const [age, budget, score] = matrix().columns;
  const found = moments([score, age, budget].filter((column) => column !== undefined));
  expect(found.map(({ step, columns }) => [step, columns.length])).toEqual([
    ["fs_user", 2],
    ["blend", 1],
  ]);
});

test("a value reaches from 0 to 1 between the ends of its column", () => {
  expect(reach("0.2", { min: 0.2, max: 0.9 })).toBe(0);
  expect(reach("0.9", { min: 0.2, max: 0.9 })).toBe(1);
});

test("texts, blanks and NaN reach nowhere", () => {
  expect(reach("Alder", { min: null, max: null })).toBeNull();
  expect(reach("", { min: 0, max: 1 })).toBeNull();
  expect(reach("NaN", { min: 0, max: 1 })).toBeNull();
});

test("in a column of one value nothing stands out", () => {
  expect(reach("41", { min: 41, max: 41 })).toBeNull();
});
