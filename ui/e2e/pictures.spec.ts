/** The pictures of the documentation, taken when UI_PICTURES names a folder for them. */
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, open, test } from "./world";

const folder = process.env.UI_PICTURES ?? "";

test.skip(!folder, "UI_PICTURES names no folder");

const take = (page: Page, name: string) => page.screenshot({ path: join(folder, `ui-${name}.png`) });

async function scored(page: Page): Promise<void> {
  await open(page, "/playground?config=ranker", "Playground");
  await page.getByRole("button", { name: "Score" }).click();
  await expect(page.getByRole("table", { name: "Ranking" }).locator("tbody tr")).toHaveCount(12);
  await expect(page.getByRole("button", { name: "Score" })).toBeEnabled();
  await page.mouse.move(0, 0);
}

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme, contextOptions: { reducedMotion: "reduce" } });

    test(`pictures in ${colorScheme}`, async ({ page }) => {
      await open(page, "/", "Overview");
      await expect(page.getByRole("img", { name: /^Latency/ })).toBeVisible();
      await take(page, `overview-${colorScheme}`);
      await open(page, "/configs/ranker", "ranker");
      await expect(page.getByText("blend", { exact: true })).toBeVisible();
      await take(page, `config-${colorScheme}`);
      await scored(page);
      await take(page, `playground-${colorScheme}`);
    });
  });
}
