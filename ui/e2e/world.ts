/** What every browser test has: pages that must stay silent on the console, and the server's whereabouts. */
import { AxeBuilder } from "@axe-core/playwright";
import { test as plain, expect, type APIRequestContext, type Page } from "@playwright/test";

type Fixtures = {
  /** Console messages a test provokes on purpose, such as an upload that is refused. */
  provoked: RegExp | null;
  console: void;
};

export const test = plain.extend<Fixtures>({
  provoked: [null, { option: true }],
  console: [
    async ({ page, provoked }, use) => {
      const said: string[] = [];
      page.on("pageerror", (error) => said.push(String(error)));
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) said.push(message.text());
      });
      await use();
      expect(said.filter((each) => !provoked?.test(each))).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** What the test that started the server tells of it (tests/e2e/test_ui.py). */
export function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run tests/e2e/test_ui.py, which starts a server first`);
  return value;
}

/** Opens a page and waits until its title and the live connection are there. */
export async function open(page: Page, path: string, title: string): Promise<void> {
  await page.goto(path);
  await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
  await expect(page.getByRole("status", { name: "Live updates" })).toHaveText("live");
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
}

/** Nothing that keeps somebody out: no violation that axe calls serious or critical. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).analyze();
  const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  expect.soft(grave.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
}

/** The page is not wider than the window. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect.soft(beyond).toBeLessThanOrEqual(0);
}

/** The first sample request of a config, as the playground offers it. */
export async function sampleRequest(request: APIRequestContext, config: string): Promise<object> {
  const answer = await request.get(`/api/v1/samples?config=${config}`);
  const { samples } = (await answer.json()) as { samples: { request: object }[] };
  const first = samples[0]?.request;
  if (!first) throw new Error(`${config} has no sample requests`);
  return first;
}
