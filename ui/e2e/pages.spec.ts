import { expect, expectAccessible, expectNoSidewaysScroll, open, test } from "./world";

const PAGES = [
  ["/", "Overview"],
  ["/configs", "Model configs"],
  ["/configs/ranker", "ranker"],
  ["/configs/ranker/text", "ranker"],
  ["/configs/ranker/versions", "ranker"],
  ["/playground", "Playground"],
  ["/recordings", "Recordings"],
  ["/models", "Models"],
  ["/models/click_model", "click_model"],
  ["/workers", "Workers"],
  ["/features", "Features"],
  ["/logs", "Logs"],
  ["/keys", "Keys"],
  ["/settings?filter=gateway", "Settings"],
] as const;

const LOOKS = [
  { name: "light at 1280 px", viewport: { width: 1280, height: 800 }, colorScheme: "light" },
  { name: "dark at 390 px", viewport: { width: 390, height: 844 }, colorScheme: "dark" },
] as const;

for (const { name, ...look } of LOOKS) {
  test.describe(name, () => {
    test.use(look);
    test.setTimeout(150_000);

    test("every page opens, fits, and keeps nobody out", async ({ page }) => {
      for (const [path, title] of PAGES) {
        await test.step(path, async () => {
          await open(page, path, title);
          await expectNoSidewaysScroll(page);
          await expectAccessible(page);
        });
      }
    });
  });
}

test("an address that is no page says so", async ({ page }) => {
  await page.goto("/nothing/here");
  await expect(page.getByText("There is no such page")).toBeVisible();
});

test.describe("on a narrow screen", () => {
  test.use({ viewport: { width: 390, height: 844 } });

  test("the navigation opens as a drawer", async ({ page }) => {
    await open(page, "/", "Overview");
    await page.getByRole("button", { name: "Open the navigation" }).click();
    await page.getByRole("link", { name: "Workers", exact: true }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Workers" })).toBeVisible();
  });
});

test("the colours are those of the system until somebody chooses others", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, "/", "Overview");
  const scheme = page.locator("html");
  await expect(scheme).toHaveAttribute("data-scheme", "dark");
  await page.getByRole("button", { name: /^Colours: as the system/ }).click();
  await expect(scheme).toHaveAttribute("data-scheme", "light");
  await page.reload();
  await expect(scheme).toHaveAttribute("data-scheme", "light");
});
