import { describe, expect, it } from "vitest";
import { aModel } from "../../test/fixtures/models";
import { shareOf, sharesToSet, trafficProblem } from "./traffic";

describe("traffic", () => {
  it("follows the split where there is one", () => {
    expect(["1", "2", "3"].map((version) => shareOf(aModel, version))).toEqual([90, 10, 0]);
  });

  it("goes to production where there is no split", () => {
    const model = { ...aModel, traffic: {} };
    expect(["1", "2"].map((version) => shareOf(model, version))).toEqual([100, 0]);
  });

  it("may be set when the shares add up to a hundred", () => {
    expect(trafficProblem({ "1": "87.5", "2": "12.5", "3": "" })).toBeNull();
    expect(sharesToSet({ "1": "87.5", "2": "12.5", "3": "" })).toEqual({ "1": 87.5, "2": 12.5 });
  });

  it.each([
    [{ "1": "90", "2": "5" }, "add up to 95 %"],
    [{ "1": "many", "2": "5" }, "number from 0 to 100"],
    [{ "1": "120", "2": "-20" }, "number from 0 to 100"],
  ])("says what is wrong with %j", (shares, said) => {
    expect(trafficProblem(shares)).toContain(said);
  });
});
