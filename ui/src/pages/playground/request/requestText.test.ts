import { idsFrom, readRequest, valueAsTyped, valueFrom } from "./requestText";

test("one id stays one and a list stays a list", () => {
  expect(idsFrom("7", "42")).toBe("7");
  expect(idsFrom("7", ["42"])).toEqual(["7"]);
  expect(idsFrom("7, 8\n9", "42")).toEqual(["7", "8", "9"]);
});

test("a value is typed as JSON where it is JSON, and is a text otherwise", () => {
  expect(valueFrom("20")).toBe(20);
  expect(valueFrom("true")).toBe(true);
  expect(valueFrom("[1, 2]")).toEqual([1, 2]);
  expect(valueFrom("home page")).toBe("home page");
});

test("what is shown for a value is read back as the same value", () => {
  for (const value of [20, true, [1, 2], "home page"]) expect(valueFrom(valueAsTyped(value))).toEqual(value);
});

test("only an object is a request", () => {
  expect(readRequest('{"entities": {}}').request).toEqual({ entities: {} });
  expect(readRequest("[1]").error).toMatch("object");
  expect(readRequest("{").error).toBeTruthy();
});
