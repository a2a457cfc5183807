// The totals of turns with more calls and tool runs than a page of the API has.

import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, reads, watched } from "./browser.js";
import { browser, call, service, setUp } from "./setup.js";

const APP = "/api/chats/acme_corp";
const view = (chatId) => `#/apps/acme_corp/chats/${chatId}?view=turns`;

setUp({
  async seed() {
    await seedTurns("long-1", [
      { calls: 60, runs: 60, error: "connection refused" },
      { calls: 60, runs: 60 },
      { calls: 30, runs: 30, outcome: "failed", steps: [failedStep()] },
    ]);
    await seedTurns(
      "wide-1",
      [5, 6, 7].map((calls) => ({ calls, runs: 0, messages: 45 })),
    );
    await seedTurns("huge-1", [
      { calls: 40, runs: 2 },
      { calls: 5_000, runs: 400, lastError: "out of memory" },
    ]);
    await seedTurns("lost-1", [{ calls: 0, runs: 0, outcome: "failed" }]);
  },
});

const failedStep = () => ({
  type: "llm",
  status: "failed",
  assistant_id: "planner",
  stack_id: "stk_1",
  error: "model overloaded",
});

/** Stores a chat of turns. A turn is stored after its calls and runs. */
async function seedTurns(chatId, turns) {
  await call("POST", APP, { chat_id: chatId, workflow_name: "Research" });
  for (const [index, turn] of turns.entries()) await seedTurn(chatId, index + 1, turn);
}

async function seedTurn(chatId, number, { calls, runs, messages = 2, ...turn }) {
  const base = `${APP}/${chatId}`;
  await seedList(`${base}/calls`, "calls", calls, () => ({
    agent: "planner",
    model: "model-1",
    prompt_tokens: 10,
    completion_tokens: 1,
    cost_micros_usd: 100_000,
  }));
  // The runs begin behind the calls, however fast these are stored.
  await pause(runs);
  await seedList(`${base}/tool-runs`, "runs", runs, (at) => {
    const error = { 0: turn.error, [runs - 1]: turn.lastError }[at];
    // Each begins a little later than the one before.
    const started_at = new Date(Date.now() + at - runs).toISOString();
    return { tool_name: error ? "database" : "web", error, started_at };
  });
  // A turn is told from the next one by the time at which it was stored.
  await pause();
  await call("POST", `${base}/turns`, {
    request_id: `turn-${number}`,
    outcome: turn.outcome ?? "completed",
    messages: Array.from({ length: messages }, (_, at) =>
      at === 0
        ? { role: "user", name: "alice", content: `Question ${number}` }
        : { role: "assistant", name: "planner", content: `Answer ${number}` },
    ),
    steps: turn.steps ?? [],
  });
  await pause();
}

async function seedList(path, field, length, make) {
  for (let first = 0; first < length; first += 1_000) {
    const end = Math.min(length, first + 1_000);
    const made = Array.from({ length: end - first }, (_, at) => make(first + at));
    await call("POST", path, { [field]: made });
  }
}

const pause = (ms = 50) => new Promise((resolve) => setTimeout(resolve, ms));

const turn = (page, number) =>
  page.locator(".turn").filter({ has: page.getByRole("link", { name: `Question ${number}` }) });

test("every call and tool run of a turn is counted, and none is read twice", async () => {
  await watched(browser, service, async (page, place) => {
    const olderPages = [];
    page.on("request", (request) => {
      if (/(calls|tool-runs)\?.*cursor=/.test(request.url())) olderPages.push(request.url());
    });
    await place.open(view("long-1"));
    await place.shows("long-1");
    await reads(turn(page, 1), /60 calls60 tools1 failed660 tokens\$6\.00/);
    await reads(turn(page, 2), /60 calls60 tools660 tokens\$6\.00/);
    await reads(turn(page, 3), /30 calls30 tools330 tokens\$3\.00/);
    await counts(page.getByText(/at least/), 0);
    await turn(page, 1).getByRole("link", { name: "Question 1" }).click();
    await page.locator(".item.failed").getByText("connection refused").waitFor();
    const read = olderPages.length;
    assert.equal(read, 2, olderPages.join("\n"));
    await seedTurn("long-1", 4, { calls: 20, runs: 20 });
    await reads(turn(page, 4), /20 calls20 tools/);
    assert.equal(olderPages.length, read, olderPages.join("\n"));
  });
});

test("a turn is listed once its first message has been read", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open(view("wide-1"));
    await place.shows("wide-1");
    await reads(turn(page, 2), /6 calls66 tokens/);
    await counts(page.locator(".turn"), 2);
    await counts(page.getByText(/at least/), 0);
    await page.getByRole("button", { name: "Earlier turns" }).click();
    await reads(turn(page, 1), /5 calls55 tokens/);
    await place.open(`${view("wide-1")}&turn=turn-1`);
    await page.reload();
    await reads(turn(page, 1), /5 calls55 tokens/);
  });
});

test("a turn with more calls than are read says so, and shows what failed", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open(view("huge-1"));
    await place.shows("huge-1");
    // It reads many pages.
    await page.locator(".turn").first().waitFor({ timeout: 30_000 });
    await reads(turn(page, 2), /at least5,000 calls400 tools1 failed/);
    await reads(turn(page, 1), /at least2 tools/);
    await page
      .getByText(/^Only calls and tool runs after .* are counted: earlier turns had/)
      .waitFor();
    await page.locator(".item.failed").getByText("out of memory").waitFor();
    await page.getByText("5,100 more steps not shown.").waitFor();
    await place.isAccessible();
  });
});

test("a turn that failed in an unknown step is to be run again as a whole", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open(view("lost-1"));
    await place.shows("lost-1");
    const plan = page.locator(".plan");
    await reads(plan, /retry Run the last turn again: it is not known which of its steps failed\./);
    await page.getByText("The turn failed, and no unfinished step of it is stored.").waitFor();
  });
});
