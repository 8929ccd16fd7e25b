import { describe, expect, it } from "vitest";
import { logQuery, readFilters, writeFilters } from "./filters";

describe("log filters", () => {
  const filters = { config: "ranker", tracking_id: "", user: "ada", within: "15" };

  it("survive the address", () => {
    expect(readFilters(writeFilters(filters))).toEqual(filters);
    expect(writeFilters(filters).toString()).toBe("config=ranker&user=ada&within=15");
  });

  it("ask only for what is filled in", () => {
    expect(logQuery(filters, 1_000_000)).toEqual({
      config: "ranker",
      user: "ada",
      since_ms: 100_000,
    });
    expect(logQuery({ config: "", tracking_id: "", user: "", within: "" }, 1_000)).toEqual({});
  });
});
