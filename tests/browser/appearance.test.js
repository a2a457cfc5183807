// Every view, light, dark and narrow: it fits, a screen reader can read it, and a screenshot is taken.

import assert from "node:assert/strict";
import { test } from "node:test";
import { APPEARANCES, watched } from "./browser.js";
import { seedApp, seedDesk, seedTranscript } from "./seed.js";
import { seedContext, seedFailedRun, seedForks } from "./seed_runs.js";
import { browser, call, service, setUp } from "./setup.js";

const VIEWS = [
  ["apps", "#/", "Apps"],
  ["app", "#/apps/acme_corp", "acme_corp"],
  ["search", "#/?q=bob", "Search"],
  ["search-nothing", "#/?q=nobody", "Search"],
  ["chats", "#/apps/travel_desk/chats", "Chats"],
  ["chats-filtered", "#/apps/acme_corp/chats?workflow_name=Generator&since=week", "Chats"],
  ["chats-search", "#/apps/travel_desk/chats?q=rebooking", "Chats"],
  ["chats-none", "#/apps/travel_desk/chats?status=paused&user_id=alice", "Chats"],
  ["inbox", "#/apps/travel_desk/inbox", "Inbox"],
  ["inbox-empty", "#/apps/acme_corp/inbox", "Inbox"],
  ["numbers", "#/apps/acme_corp/numbers?since=day", "Numbers"],
  ["numbers-month", "#/apps/acme_corp/numbers?since=month", "Numbers"],
  ["workflow", "#/apps/acme_corp/workflows/Generator", "Generator"],
  ["workflow-days", "#/apps/acme_corp/workflows/Generator?step=day", "Generator"],
  ["chat", "#/apps/acme_corp/chats/picnic-1", "picnic-1"],
  ["transcript", "#/apps/acme_corp/chats/captain-1", "captain-1"],
  ["chat-empty", "#/apps/beta-labs/chats/trial-1", "trial-1", ".said"],
  ["question", "#/apps/travel_desk/chats/desk-2", "desk-2", ".question"],
  ["answering", "#/apps/acme_corp/chats/answering-1", "answering-1", ".unfinished"],
  ["broken", "#/apps/acme_corp/chats/broken-1", "broken-1", ".feed .notice"],
  ["missing", "#/apps/acme_corp/chats/picnic-1?message=99", "picnic-1", ".missing:not([hidden])"],
  ["search-user", "#/apps/travel_desk/chats?q=rebooking&user_id=bob&status=failed", "Chats"],
  ["numbers-years", "#/apps/acme_corp/numbers?from=2020-01-01T00:00:00.000Z", "Numbers", ".charts"],
  ["numbers-none", "#/apps/acme_corp/numbers?from=garbage", "Numbers"],
  ["context-single", "#/apps/acme_corp/chats/picnic-1?view=context", "picnic-1", ".diff-box"],
  ["failed", "#/apps/acme_corp/chats/rebook-1", "rebook-1"],
  ["turns", "#/apps/acme_corp/chats/rebook-1?view=turns", "rebook-1", ".timeline"],
  ["context", "#/apps/acme_corp/chats/rebook-1?view=context", "rebook-1", ".diff"],
  ["forks", "#/apps/acme_corp/chats/rebook-1?view=forks&compare=rebook-1-a", "rebook-1", ".sides"],
  ["context-empty", "#/apps/beta-labs/chats/trial-1?view=context", "trial-1", ".contexts"],
  ["turns-empty", "#/apps/beta-labs/chats/trial-1?view=turns", "trial-1", ".turns"],
  ["fork", "#/apps/acme_corp/chats/rebook-1?view=forks&at=1", "rebook-1", ".fields"],
];

setUp({
  async seed() {
    await seedApp(call, "acme_corp");
    await seedDesk(call, "travel_desk");
    await ask(call, "desk-2", { prompt: "How much may the trip cost?", agent: "planner" });
    const options = ["Charge the fee", "Waive the fee"];
    await ask(call, "desk-4", { prompt: "The fee is 80 EUR.", kind: "choice", options });
    await seedTranscript(call, "acme_corp", "captain-1");
    await seedFailedRun(call, "acme_corp");
    await seedContext(call, "acme_corp", "rebook-1");
    await seedForks(call, "acme_corp", "rebook-1");
    await beginAnswer(call, "acme_corp", "answering-1");
    await breakAnswer(call, "acme_corp", "broken-1");
    await call("PUT", "/api/chats/beta-labs/trial-1", { workflow_name: "Trial" });
    for (const app of ["beta-labs", "a_long_name_".padEnd(64, "x")]) {
      await call("POST", `/api/chats/${app}`, { workflow_name: "Trial" });
    }
  },
});

async function ask(call, chatId, question) {
  await call("PUT", `/api/chats/travel_desk/${chatId}`, { workflow_name: "Desk" });
  const asked = { expires_in_sec: 7_200, ...question };
  await call("POST", `/api/chats/travel_desk/${chatId}/input-requests`, asked);
}

/** Starts an answer that does not end. */
async function beginAnswer(call, app, chatId) {
  const base = `/api/chats/${app}/${chatId}`;
  await call("PUT", base, { workflow_name: "Answers" });
  const asked = { role: "user", name: "alice", content: "Tell me a story" };
  await call("POST", `${base}/messages`, asked);
  await call("POST", `${base}/streams`, { stream_id: "s1", format: "ui_message", agent: "writer" });
  const chunks = [
    { type: "start", messageId: "m1" },
    { type: "reasoning-delta", id: "r1", delta: "A story needs a place. " },
    { type: "text-start", id: "t1" },
    { type: "text-delta", id: "t1", delta: "Let me look for a lake." },
    { type: "tool-input-available", toolCallId: "c1", toolName: "find_lake", input: { near: "Oslo" } },
    { type: "tool-output-available", toolCallId: "c1", output: { name: "Sognsvann" } },
    { type: "tool-input-available", toolCallId: "c2", toolName: "weather", input: { day: 7 } },
    { type: "text-start", id: "t2" },
    { type: "text-delta", id: "t2", delta: "Once upon a time there was a lake, and at the lake " },
  ];
  await call("POST", `${base}/streams/s1/chunks`, { from: 0, chunks });
}

/** Starts an answer that fails. */
async function breakAnswer(call, app, chatId) {
  const base = `/api/chats/${app}/${chatId}`;
  await call("PUT", base, { workflow_name: "Answers" });
  await call("POST", `${base}/messages`, { role: "user", name: "bob", content: "Please rebook" });
  await call("POST", `${base}/streams`, { stream_id: "s1", format: "text", agent: "booker" });
  const error = "HTTP 502 from the booking system: upstream timed out after 30 s";
  await call("POST", `${base}/streams/s1/end`, { state: "failed", error });
}

for (const [look, options] of Object.entries(APPEARANCES)) {
  test(`every view is accessible and fits: ${look}`, async () => {
    await watched(
      browser,
      service,
      async (page, place) => {
        for (const [name, hash, title, awaited = ".message"] of VIEWS) {
          await place.open(hash);
          await place.shows(title);
          await page.locator(".waiting").waitFor({ state: "detached" });
          if (hash.includes("/chats/")) await page.locator(awaited).first().waitFor();
          await place.fits();
          await place.isAccessible();
          await place.screenshot(`${name}-${look}`, { fullPage: !hash.includes("captain") });
        }
      },
      // The search looks for chats with the ids "bob" and "nobody".
      { ...options, answers: [404] },
    );
  });
}

test("the breadcrumbs to the app and the workflow are in sight on a narrow screen", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      // With a token there is one more button in the same line.
      await page.addInitScript(() => sessionStorage.setItem("reprise.token", "any"));
      await place.open("#/apps/acme_corp/chats/picnic-1");
      await place.shows("picnic-1");
      await page.getByRole("button", { name: "Forget token" }).waitFor();
      const crumbs = page.getByRole("navigation", { name: "Breadcrumbs" });
      const { right } = await crumbs.evaluate((it) => it.getBoundingClientRect());
      for (const name of ["acme_corp", "Picnic"]) {
        const link = crumbs.getByRole("link", { name });
        await link.waitFor();
        const end = await link.evaluate((it) => it.getBoundingClientRect().right);
        assert.ok(end <= right, `${name} ends at ${end}, and its line at ${right}`);
      }
    },
    APPEARANCES.narrow,
  );
});
