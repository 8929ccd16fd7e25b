import { ago, bytes, duration, milliseconds, number, percent } from "./format";

test.each([
  [null, "–"],
  ["NaN", "NaN"],
  [7, "7"],
  [0.061234567, "0.06123"],
  [0.00001, "1.00e-5"],
  [123456.789, "123500"],
])("the number %s reads %s", (value, text) => expect(number(value)).toBe(text));

test.each([
  [0.123, "0.12 ms"],
  [4.56, "4.6 ms"],
  [45.6, "46 ms"],
  [1234, "1.23 s"],
])("%s milliseconds read %s", (value, text) => expect(milliseconds(value)).toBe(text));

test.each([
  [0, "0 %"],
  [0.0012, "0.12 %"],
  [0.035, "3.5 %"],
  [1, "100 %"],
])("the share %s reads %s", (value, text) => expect(percent(value)).toBe(text));

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1536, "1.5 KiB"],
  [5 * 2 ** 30, "5.0 GiB"],
])("%s bytes read %s", (value, text) => expect(bytes(value)).toBe(text));

test.each([
  [0.2, "200 ms"],
  [4.25, "4.3 s"],
  [93, "1 min 33 s"],
  [3600, "1 h"],
  [90_061, "1 d 1 h"],
])("%s seconds read %s", (value, text) => expect(duration(value)).toBe(text));

test("an age is told in whole seconds, and a moment ahead of this clock is now", () => {
  expect(ago(1_000, 7_400)).toBe("6 s ago");
  expect(ago(2_000, 1_000)).toBe("0 s ago");
});
