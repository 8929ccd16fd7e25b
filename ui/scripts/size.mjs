/** Fails when what the first page loads is over its budget, gzipped: entry, page, all they import, styles. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const BUDGET_KB = 400;
const FIRST_PAGE = ["index.html", "src/pages/overview/index.tsx"];
const dist = new URL("../../src/inferflow/ui/dist/", import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8"));

const files = new Set();
const seen = new Set();
function collect(name) {
  const chunk = manifest[name];
  if (!chunk || seen.has(name)) return;
  seen.add(name);
  files.add(chunk.file);
  for (const style of chunk.css ?? []) files.add(style);
  for (const imported of chunk.imports ?? []) collect(imported);
}
FIRST_PAGE.forEach(collect);
// What the page fetches once it is drawn, such as its charts, is waited for as well.
manifest[FIRST_PAGE[1]].dynamicImports?.forEach(collect);

let total = 0;
for (const file of files) {
  const path = join(dist, file);
  if (existsSync(path)) total += gzipSync(readFileSync(path)).length;
}
const kB = total / 1000;
console.log(`first page: ${kB.toFixed(1)} kB gzipped in ${files.size} files (budget ${BUDGET_KB} kB)`);
if (kB > BUDGET_KB) process.exit(1);
