// Does with the page of the tutorial what its reader does: sends a message, and reloads the page in the middle of the answer.
//
//     chat_page.mjs URL
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const packages = createRequire(new URL("../../../clients/typescript/package.json", import.meta.url));
const { chromium } = packages("playwright-core");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  // The sandbox of Chromium does not run as root.
  args: process.getuid() === 0 ? ["--no-sandbox"] : [],
});
const page = await browser.newPage();
const errors = [];
page.on("pageerror", (error) => errors.push(error.message));
await page.goto(process.argv[2]);
await page.locator("input").fill("the lake");
await page.getByRole("button", { name: "Send" }).click();
await page.getByText("helper: You said the lake.").waitFor();
assert.doesNotMatch(await page.locator("main").innerText(), /I am done/);

await page.reload();
await page.getByText("helper: You said the lake.").waitFor();
assert.doesNotMatch(await page.locator("main").innerText(), /I am done/);
await page.getByText("and then I am done.").waitFor();

// The stored message takes the place of the stream.
await page.waitForFunction(() => document.querySelectorAll("p").length === 2);
await page.waitForTimeout(1_000);
const expected = ["user: the lake", "helper: You said the lake. I think about it for a while, and then I am done."];
assert.deepEqual(await page.locator("p").allInnerTexts(), expected);
assert.deepEqual(errors, []);
await browser.close();
