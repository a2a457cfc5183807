/** The examples of the README do what they say; `ai.test.ts` and `browser.test.ts` run the others. */
import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { newApp, sharedService } from "./service.js";

before(async () => {
  process.env["REPRISE_URL"] = (await sharedService()).url;
});
beforeEach(() => {
  process.env["REPRISE_APP"] = newApp();
});

/** Imports an example; returns what it printed. */
async function printed(run: () => Promise<unknown>): Promise<unknown[]> {
  const lines: unknown[] = [];
  const log = console.log;
  console.log = (line: unknown) => lines.push(line);
  try {
    await run();
  } finally {
    console.log = log;
  }
  return lines;
}

test("the tour", async () => {
  assert.deepEqual(await printed(() => import("./readme/tour.js")), ["Hello", "1 message: hello, where to?"]);
});

test("the session store", async () => {
  const message = { id: "m1", role: "user", content: "Hello!", parts: [{ type: "text", text: "Hello!" }] };
  assert.deepEqual(await printed(() => import("./readme/sessions.js")), [[message]]);
});
