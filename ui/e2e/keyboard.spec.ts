import { expect, open, test } from "./world";

test("everything on the way to a worker's details is done with the keyboard", async ({ page }) => {
  await open(page, "/", "Overview");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  const workers = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Workers" });
  for (let presses = 0; presses < 20; presses++) {
    if (await workers.evaluate((link) => link === document.activeElement)) break;
    await page.keyboard.press("Tab");
  }
  await expect(workers).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Workers" })).toBeVisible();
  const first = page.getByRole("table", { name: "Workers" }).locator("tbody tr").first();
  await first.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByText("p50 / p95 / p99")).toBeVisible();
});

test("the link to the content skips the navigation", async ({ page }) => {
  await open(page, "/keys", "Keys");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Create a key" })).toBeFocused();
});

test("a dialog takes the keyboard, and Escape gives it back", async ({ page }) => {
  await open(page, "/models", "Models");
  const upload = page.getByRole("button", { name: "Upload a model" });
  await upload.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Upload a model" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(upload).toBeFocused();
});
