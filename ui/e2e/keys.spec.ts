import { expect, open, test } from "./world";

test("a key is shown once, works, and is refused once it is revoked", async ({ page }) => {
  await open(page, "/keys", "Keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByLabel("Name").fill("checkout");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const shown = page.getByRole("dialog", { name: "The key of checkout" });
  await expect(shown.getByText(/^ifk_[0-9a-f]+_/)).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(shown).toBeVisible();
  await shown.getByRole("checkbox", { name: "I have stored it" }).check();
  await shown.getByRole("button", { name: "Done" }).click();
  await expect(page.getByText(/ifk_/)).toHaveCount(0);

  await page.getByRole("button", { name: "Revoke checkout" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("row", { name: /^checkout/ }).getByText("revoked")).toBeVisible();
  await expect(page.getByRole("table", { name: "Changes" }).getByText("key revoked").first()).toBeVisible();
});
