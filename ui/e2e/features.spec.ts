import { expect, open, test } from "./world";

test("a key is looked up, written, and read back", async ({ page }) => {
  await open(page, "/features", "Features");
  await page.getByLabel(/^Keys/).fill("7\nnobody");
  await page.getByRole("button", { name: "Look up" }).click();
  await expect(page.getByRole("region", { name: "user_id 7" }).getByText("real").first()).toBeVisible();
  await expect(
    page.getByRole("region", { name: "user_id nobody" }).getByText("missing").first(),
  ).toBeVisible();

  await page.getByRole("button", { name: "Write values…" }).click();
  const dialog = page.getByRole("dialog", { name: "Write values of user" });
  await dialog.getByLabel("user_id").fill("nobody");
  await dialog.getByLabel(/^age/).fill("27");
  await dialog.getByRole("button", { name: "Write 1 to the live store" }).click();
  const written = page.getByRole("region", { name: "user_id nobody" });
  await expect(written.getByRole("row", { name: /^age 27 real/ })).toBeVisible();
});
