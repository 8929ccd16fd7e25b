/** Markup in everything that others may have written, and pages of other hosts: neither gets to run or to read anything. */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { APIRequestContext, Page } from "@playwright/test";
import { expect, given, open, sampleRequest, test } from "./world";

const HOSTILE = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;

/** What was written is there to read, and is no markup. */
async function expectText(page: Page): Promise<void> {
  await expect(page.getByText(HOSTILE).first()).toBeVisible();
  expect(await page.locator("img[src=x], script:text('hacked')").count()).toBe(0);
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);
}

async function uploadHostile(request: APIRequestContext, name: string): Promise<number> {
  const file = {
    name: "model.onnx",
    mimeType: "application/octet-stream",
    buffer: readFileSync(given("UI_HOSTILE")),
  };
  const multipart = { file, description: HOSTILE };
  return (await request.post(`/api/v1/models/${encodeURIComponent(name)}/versions`, { multipart })).status();
}

test.describe("what others wrote is text", () => {
  test.afterAll(async ({ request }) => {
    await request.delete("/api/v1/models/marked_model/versions/1");
  });

  test("in a model: its description and the names of its tensors", async ({ page, request }) => {
    expect(await uploadHostile(request, "<img src=x onerror=alert(1)>")).toBe(400);
    expect(await uploadHostile(request, "marked_model")).toBe(200);
    await open(page, "/models/marked_model", "marked_model");
    await expectText(page);
    await expect(page.getByRole("cell", { name: HOSTILE }).first()).toBeVisible();
  });

  test("in a config: its text and the note of its version", async ({ page, request }) => {
    const ranker = (await (await request.get("/api/v1/configs/ranker")).json()) as { text: string };
    const text = `# ${HOSTILE}\n${ranker.text.replace(/^ranker:/m, "marked:")}`;
    const published = await request.put("/api/v1/configs/marked", { data: { text, note: HOSTILE } });
    expect(published.status(), await published.text()).toBe(200);
    await open(page, "/configs/marked/text", "marked");
    await expectText(page);
    await open(page, "/configs/marked/versions", "marked");
    await expectText(page);
  });

  test("in a request that is kept, and in its problem", async ({ page, request }) => {
    const sample = { ...(await sampleRequest(request, "ranker")), tracking_id: HOSTILE };
    expect((await request.post("/v1/score/ranker?explain=true", { data: sample })).ok()).toBe(true);
    await open(page, "/recordings", "Recordings");
    await expectText(page);
  });

  test("in the name of a key, and in who made it", async ({ page, request }) => {
    const made = await request.post("/api/v1/keys", { data: { name: HOSTILE, permissions: ["view"] } });
    expect(made.ok()).toBe(true);
    await open(page, "/keys", "Keys");
    await expectText(page);
  });
});

test.describe("a page of another host", () => {
  test.use({ provoked: /./ });
  let server: Server;
  let other: string;

  test.beforeAll(async () => {
    server = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<p>other</p>"));
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    other = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  test.afterAll(() => server.close());

  test("reads nothing, changes nothing, and opens no socket", async ({ page, baseURL }) => {
    await page.goto(other);
    const tried = await page.evaluate(async (gateway) => {
      const asked = async (path: string, init?: RequestInit): Promise<string> => {
        try {
          return `answered ${(await fetch(gateway + path, init)).status}`;
        } catch {
          return "blocked";
        }
      };
      const socket = await new Promise<string>((done) => {
        const opened = new WebSocket(`${gateway.replace("http", "ws")}/api/v1/live`);
        opened.onmessage = () => done("told something");
        opened.onclose = () => done("closed");
      });
      return {
        read: await asked("/api/v1/settings"),
        json: await asked("/api/v1/keys", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ name: "stolen", permissions: ["admin"] }),
        }),
        simple: await asked("/api/v1/keys", {
          method: "POST",
          mode: "no-cors",
          body: JSON.stringify({ name: "stolen", permissions: ["admin"] }),
        }),
        socket,
      };
    }, baseURL ?? "");
    expect(tried).toMatchObject({ read: "blocked", json: "blocked", socket: "closed" });
    expect(tried.simple).toMatch(/blocked|answered 0/);
    await page.goto("/keys");
    await expect(page.getByRole("table", { name: "Keys" })).toBeVisible();
    await expect(page.getByText("stolen")).toHaveCount(0);
  });

  test("cannot show these pages in a frame of its own", async ({ page, baseURL }) => {
    await page.goto(other);
    await page.evaluate((gateway) => {
      const frame = document.createElement("iframe");
      frame.src = gateway;
      document.body.append(frame);
    }, `${baseURL}/keys`);
    await expect(async () => expect(page.frames()[1]?.url()).toMatch(/^chrome-error:/)).toPass();
  });
});

test.describe("even if markup got in", () => {
  test.use({ provoked: /Content Security Policy|violates/ });

  test("the policy of the pages runs no script of its own", async ({ page }) => {
    const answer = await page.goto("/");
    const policy = answer?.headers()["content-security-policy"] ?? "";
    for (const part of ["default-src 'self'", "object-src 'none'", "frame-ancestors 'none'"])
      expect(policy).toContain(part);
    expect(policy).not.toMatch(/script-src[^;]*unsafe/);
    await page.evaluate((markup) => {
      document.body.insertAdjacentHTML("beforeend", markup);
      const script = document.createElement("script");
      script.textContent = "window.hacked = 1";
      document.body.append(script);
    }, HOSTILE);
    await expect(page.locator("img[src=x]")).toHaveCount(1);
    await page.waitForFunction(() => document.querySelector<HTMLImageElement>("img[src=x]")?.complete);
    expect(await page.evaluate(() => "hacked" in window)).toBe(false);
  });
});
