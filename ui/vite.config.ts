/** Builds into the Python package, which serves the files and carries them in its wheel. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const gateway = process.env.INFERFLOW_GATEWAY ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  build: { outDir: "../src/inferflow/ui/dist", emptyOutDir: true, target: "es2023", manifest: true },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/v1", "/v2", "/health"].map((path) => [
        path,
        { target: gateway, ws: true, changeOrigin: true },
      ]),
    ),
  },
  test: {
    environment: "jsdom",
    globals: true,
    setupFiles: ["src/test/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}"],
    testTimeout: 60_000,
    // Loading the libraries anew for every file would take longer than the tests.
    isolate: false,
  },
});
