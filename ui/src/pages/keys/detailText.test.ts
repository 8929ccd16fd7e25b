import { detailText } from "./detailText";

it.each([
  ["", ""],
  ["by hand", "by hand"],
  ['{"name": "shop", "permissions": ["admin", "view"], "reason": ""}', "name shop · permissions admin, view"],
  [`{"digest": "${"ab".repeat(32)}", "size": 7}`, "digest abababababab · size 7"],
])("%s reads %j", (json, text) => {
  expect(detailText(json)).toBe(text);
});
