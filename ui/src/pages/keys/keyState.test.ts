import { describe, expect, it } from "vitest";
import { emptyKeyForm, keyFormProblems, keyOrder, keyState } from "./keyState";

describe("a key's state", () => {
  it.each([
    [{ expires_ms: 0, revoked_ms: 0 }, "live"],
    [{ expires_ms: 101, revoked_ms: 0 }, "live"],
    [{ expires_ms: 100, revoked_ms: 0 }, "expired"],
    [{ expires_ms: 50, revoked_ms: 60 }, "revoked"],
  ])("%j is %s", (key, state) => {
    expect(keyState(key, 100)).toBe(state);
  });
});

describe("the form of a new key", () => {
  const form = { ...emptyKeyForm, name: " checkout " };

  it("asks for no more than a name and a permission", () => {
    expect(keyFormProblems(form)).toEqual({});
    expect(keyOrder(form, 0)).toEqual({ name: "checkout", permissions: ["inference"], models: [] });
  });

  it("turns days into a moment and words into patterns", () => {
    const full = { ...form, models: "click_*, page_*", days: "30", perSecond: "50" };
    expect(keyOrder(full, 1_000)).toEqual({
      name: "checkout",
      permissions: ["inference"],
      models: ["click_*", "page_*"],
      expires_ms: 1_000 + 30 * 86_400_000,
      rate: { per_second: 50, burst: 0 },
    });
  });

  it("names every field that is wrong", () => {
    const wrong = { name: "", permissions: [], models: "", days: "soon", perSecond: "-1" };
    expect(Object.keys(keyFormProblems(wrong))).toEqual(["name", "permissions", "days", "perSecond"]);
  });
});
