import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, given, open, test } from "./world";

const MAIN = "from inferflow.cli import main; main()";

function startWorker(key: string): ChildProcess {
  const folder = mkdtempSync(join(tmpdir(), "inferflow-ui-worker-"));
  const places = ["--port", "0", "--http-port", "0", "--manager", given("UI_MANAGER"), "--key", key];
  return spawn(given("UI_PYTHON"), ["-c", MAIN, "worker", folder, ...places], {
    env: { ...process.env, INFERFLOW_WORKER_ID: "second" },
    stdio: "ignore",
  });
}

test("a worker dies and comes back before one's eyes, without a reload", async ({ page, request }) => {
  const made = await request.post("/api/v1/keys", {
    data: { name: "second worker", permissions: ["worker"] },
  });
  const { text } = (await made.json()) as { text: string };
  await open(page, "/workers", "Workers");
  await page.evaluate(() => sessionStorage.setItem("opened", performance.timeOrigin.toString()));
  const second = page.getByRole("row", { name: /^second / });

  let worker = startWorker(text);
  try {
    await expect(second.getByText("online")).toBeVisible({ timeout: 20_000 });
    worker.kill("SIGKILL");
    await expect(second.getByText("dead")).toBeVisible({ timeout: 10_000 });
    worker = startWorker(text);
    await expect(second.getByText("online")).toBeVisible({ timeout: 20_000 });
  } finally {
    worker.kill("SIGKILL");
  }
  const isSame = await page.evaluate(
    () => sessionStorage.getItem("opened") === performance.timeOrigin.toString(),
  );
  expect(isSame).toBe(true);
  await page.getByRole("link", { name: "Overview" }).click();
  await expect(
    page.getByRole("region", { name: "Recent events" }).getByText("worker dead").first(),
  ).toBeVisible();
});
