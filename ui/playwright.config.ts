/** Drives a real browser against a running gateway, which whoever calls this has started (tests/e2e/test_ui.py). */
import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "e2e",
  outputDir: process.env.UI_TEST_RESULTS ?? "test-results",
  // One server with one fleet: what one test changes another would see.
  workers: 1,
  fullyParallel: false,
  timeout: 30_000,
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  use: {
    baseURL: process.env.UI_ADDRESS ?? "http://127.0.0.1:8080",
    viewport: { width: 1280, height: 800 },
    trace: "off",
    launchOptions: {
      executablePath: process.env.UI_CHROMIUM,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
      ],
    },
  },
});
