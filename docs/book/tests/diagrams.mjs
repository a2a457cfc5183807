// Checks that every diagram of a built site is drawn, in light and dark, with the text in its box.
//
//     diagrams.mjs SITE_DIR
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const packages = createRequire(new URL("../../../clients/typescript/package.json", import.meta.url));
const { chromium } = packages("playwright-core");

const site = resolve(process.argv[2]);
const pages = readdirSync(site, { recursive: true })
  .filter((name) => name.endsWith(".html"))
  .map((name) => join(site, name))
  .filter((path) => readFileSync(path, "utf8").includes('class="mermaid"'));
assert.notEqual(pages.length, 0, "no page has a diagram");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  // The sandbox of Chromium does not run as root.
  args: process.getuid() === 0 ? ["--no-sandbox"] : [],
});
let count = 0;
for (const colorScheme of ["light", "dark"]) {
  const page = await browser.newPage({ colorScheme });
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  for (const path of pages) {
    await page.goto(pathToFileURL(path).href);
    const diagrams = page.locator(".mermaid");
    for (const diagram of await diagrams.all()) {
      await diagram.locator("svg .node").first().waitFor({ timeout: 10_000 });
      const outside = await diagram.locator("svg .node").evaluateAll((nodes) =>
        nodes.filter((node) => {
          const [box, text] = [".label-container", ".nodeLabel"].map((part) => node.querySelector(part).getBoundingClientRect());
          return text.width === 0 || text.left < box.left || text.right > box.right;
        }).map((node) => node.textContent),
      );
      assert.deepEqual(outside, [], path);
      count += 1;
    }
  }
  assert.deepEqual(errors, []);
  await page.close();
}
await browser.close();
console.log(`${count / 2} diagrams are drawn`);
