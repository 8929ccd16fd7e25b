import { valueText } from "./valueText";

it.each([
  [34, "34"],
  [0.123456789, "0.123457"],
  ["NaN", "NaN"],
  ["", "“”"],
  [null, "–"],
  [true, "true"],
  [[1, 0.5], "[1, 0.5]"],
  [[1, 2, 3, 4, 5, 6, 7, 8, 9], "[1, 2, 3, 4, 5, 6, 7, 8, … 9]"],
])("%j reads %s", (value, text) => {
  expect(valueText(value, 6)).toBe(text);
});
