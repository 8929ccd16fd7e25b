import type { APIRequestContext, Page } from "@playwright/test";
import { expect, open, sampleRequest, test } from "./world";

const text = async (request: APIRequestContext): Promise<string> => {
  const answer = await request.get("/api/v1/configs/ranker");
  return ((await answer.json()) as { text: string }).text;
};

async function write(page: Page, written: string): Promise<void> {
  const editor = page.getByRole("textbox", { name: "Text of ranker" });
  await editor.click();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.insertText(written);
}

test("a config that is published is live, and its requests are logged from then on", async ({
  page,
  request,
}) => {
  const before = await text(request);
  await open(page, "/configs/ranker/text", "ranker");
  await write(page, before.replace(/logging_perc: \d+/, "logging_perc: 100"));
  await page.getByLabel("Note for the history").fill("log everybody");
  await page.getByRole("button", { name: "Check" }).click();
  await expect(page.getByText(/It compiles, and \d+ of \d+ golden requests pass/)).toBeVisible();
  await page.getByRole("button", { name: "Publish" }).click();
  await expect(page.getByText("Version 2 is live")).toBeVisible();

  await page.getByRole("tab", { name: "Versions" }).click();
  await expect(page.getByText("log everybody")).toBeVisible();

  await expect(async () => {
    const sample = { ...(await sampleRequest(request, "ranker")), tracking_id: "seen-in-the-log" };
    const scored = await request.post("/v1/score/ranker", { data: sample });
    expect(scored.ok()).toBe(true);
    await open(page, "/logs?tracking_id=seen-in-the-log", "Logs");
    await expect(page.getByText("seen-in-the-log").first()).toBeVisible({ timeout: 2_000 });
  }).toPass({ timeout: 25_000 });
  await page
    .getByRole("row", { name: /seen-in-the-log/ })
    .first()
    .click();
  await expect(page.getByRole("columnheader", { name: "blend:final_score" })).toBeVisible();
});

test("a bad config is refused while it is typed, and the old one keeps serving", async ({
  page,
  request,
}) => {
  const before = await text(request);
  await open(page, "/configs/ranker/text", "ranker");
  await write(page, before.replace("user:profile:age: INT32", "user:profile:agee: INT32"));
  await expect(
    page
      .getByRole("list", { name: "Problems" })
      .getByText(/user:profile:agee/)
      .first(),
  ).toBeVisible();
  await expect(page.getByRole("button", { name: "Publish" })).toBeDisabled();
  await page.getByRole("button", { name: "Discard" }).click();
  expect(await text(request)).toBe(before);
  await open(page, "/configs/ranker", "ranker");
  await expect(page.getByText("serving")).toBeVisible();
});

test("the graph shows the steps, and a step its columns", async ({ page }) => {
  await open(page, "/configs/ranker", "ranker");
  await page.getByText("fs_product", { exact: true }).first().click();
  await expect(page.getByText("product:attributes:price").first()).toBeVisible();
});
