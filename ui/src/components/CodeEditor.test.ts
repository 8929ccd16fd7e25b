import { Text } from "@codemirror/state";
import { finding } from "../test/fixtures/configs";
import { marks } from "./CodeEditor";

const doc = Text.of(["ranker:", "  steps: 1"]);

test("a problem is marked from its place to the end of its line", () => {
  expect(marks(doc, [finding({ line: 2, column: 3 })])).toMatchObject([
    { from: 10, to: 18, severity: "error" },
  ]);
});

test("a place that the text no longer has is its end", () => {
  expect(marks(doc, [finding({ line: 9, column: 90 })])).toMatchObject([{ from: 18, to: 18 }]);
});

test("problems without a place are not marked", () => {
  expect(marks(doc, [finding({ line: null, column: null })])).toEqual([]);
});
