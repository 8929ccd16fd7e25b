import { describe, expect, it } from "vitest";
import { readKeys, readValue } from "./typedValues";

describe("keys", () => {
  it("are one per line", () => {
    expect(readKeys("7\n\n 9 \n", 1)).toEqual({ keys: [["7"], ["9"]], problem: null });
  });

  it("may have commas when they have one part only", () => {
    expect(readKeys("a,b", 1).keys).toEqual([["a,b"]]);
  });

  it("are split at commas when they have several parts", () => {
    expect(readKeys("7, 3", 2)).toEqual({ keys: [["7", "3"]], problem: null });
  });

  it.each([
    ["", 1, "at least one key"],
    ["7", 2, "“7” has 1"],
    ["7,", 2, "has 1"],
  ])("%j with %i parts is refused", (text, parts, said) => {
    expect(readKeys(text, parts).problem).toContain(said);
  });
});

describe("values", () => {
  it.each([
    ["FP32", "1.5", 1.5],
    ["INT64", "-3", -3],
    ["BOOL", "true", true],
    ["STRING", "12", "12"],
    ["FP32Vector", "[1, 2.5]", [1, 2.5]],
    ["StringVector", '["a"]', ["a"]],
  ])("%s reads %s", (dtype, text, value) => {
    expect(readValue({ name: "f", dtype }, text)).toEqual({ value, problem: null });
  });

  it.each([
    ["FP32", "cheap"],
    ["FP32", ""],
    ["BOOL", "1"],
    ["FP32Vector", "1"],
  ])("%s does not read %j", (dtype, text) => {
    expect(readValue({ name: "f", dtype }, text).problem).toContain(`f is ${dtype}`);
  });
});
