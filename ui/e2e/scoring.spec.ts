import { expect, open, sampleRequest, test } from "./world";

test("a request is scored in the playground, and what-if shows what would change", async ({
  page,
  request,
}) => {
  const before = await (
    await request.post("/api/v1/features/user/lookup", { data: { keys: [["7"]] } })
  ).text();
  await open(page, "/playground?config=ranker", "Playground");
  await page.getByRole("button", { name: "Score" }).click();
  const ranking = page.getByRole("table", { name: "Ranking" });
  await expect(ranking.locator("tbody tr")).toHaveCount(12);
  await expect(page.getByRole("region", { name: "Waterfall" })).toContainText("click_model");
  await expect(page.getByRole("table", { name: "Matrix" })).toBeVisible();

  await ranking.locator("tbody tr").first().click();
  await page.getByRole("button", { name: "What if user:profile:budget were different" }).click();
  await page.getByRole("textbox", { name: "user:profile:budget" }).fill("5000");
  await page.getByRole("button", { name: "Score with this" }).click();
  await page.getByRole("button", { name: "Close" }).click();
  await expect(ranking.getByRole("columnheader", { name: "Moved" })).toBeVisible();
  const after = await (
    await request.post("/api/v1/features/user/lookup", { data: { keys: [["7"]] } })
  ).text();
  expect(after).toBe(before);
});

test("requests are streamed over a WebSocket and answered in order", async ({ page, request }) => {
  await open(page, "/", "Overview");
  const sample = await sampleRequest(request, "ranker");
  const ids = await page.evaluate(async (asked) => {
    const socket = new WebSocket(`${location.origin.replace("http", "ws")}/v1/stream/ranker`);
    await new Promise((resolve) => (socket.onopen = resolve));
    const answers: string[] = [];
    const done = new Promise((resolve) => {
      socket.onmessage = ({ data }) => {
        answers.push((JSON.parse(String(data)) as { tracking_id: string }).tracking_id);
        if (answers.length === 10) resolve(answers);
      };
    });
    for (let at = 0; at < 10; at++) socket.send(JSON.stringify({ ...asked, tracking_id: `s-${at}` }));
    await done;
    socket.close();
    return answers;
  }, sample);
  expect(ids).toEqual(Array.from({ length: 10 }, (_, at) => `s-${at}`));
  await expect(page.getByRole("img", { name: /^Requests and errors per second/ })).toBeVisible();
});
