// Several pages show one chat while it continues, and while the service is down.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bothWatched, watched } from "./browser.js";
import { browser, call, service, setUp } from "./setup.js";

setUp();

test("two pages on one chat show the same, in order and once, through a restart", async () => {
  const base = await chat("shared-1");
  await say(base, 0, 5);
  const body = async (places) => {
    for (const place of places) {
      await place.open("#/apps/acme_corp/chats/shared-1");
      await place.shows("shared-1");
    }
    for (let next = 5; next < 45; next += 4) await say(base, next, 4);
    await call("PATCH", `${base}/messages/2`, { content: "changed before" });
    await call("DELETE", `${base}/messages/7`);
    await see(places, 45);

    await service.pause();
    for (const place of places) await place.text("Reconnecting…").waitFor();
    await places[0].screenshot("reconnecting");
    await service.resume();
    await say(base, 45, 30);
    await call("PATCH", `${base}/messages/3`, { content: "changed after" });
    await call("DELETE", `${base}/messages/60`);
    for (const place of places) await place.text("Live").waitFor();
    await say(base, 75, 5);
    await see(places, 80);
    await places[1].screenshot("shared");
  };
  await bothWatched(browser, service, body, { goesAway: true, answers: [503] });

  /** Waits until both pages show the chat's content. */
  async function see(places, count) {
    const { data: messages } = await call("GET", `${base}/messages?limit=200`);
    assert.equal(messages.length, count);
    const held = messages.map((it) => [it.sequence, it.deleted_at ? "Deleted." : it.content]);
    for (const place of places) await place.showsMessages(held);
  }
});

test("a hidden page sends no requests, and catches up when it is shown", async () => {
  const base = await chat("away-1");
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/chats/away-1");
    await place.shows("away-1");
    await place.text("This chat has no messages yet.").waitFor();
    await say(base, 0, 3);
    await place.showsMessages(lines(0, 3));
    await place.isHidden(true);
    let asked = 0;
    page.on("request", () => (asked += 1));
    await say(base, 3, 40);
    await page.waitForTimeout(1_000);
    assert.equal(asked, 0);
    await place.isHidden(false);
    await place.showsMessages(lines(0, 43));
    await place.text("Live").waitFor();
  });
});

test("recorded calls are shown, and an idle page sends no requests", async () => {
  const base = await chat("used-1");
  await watched(browser, service, async (page, place) => {
    await page.clock.install();
    await place.open("#/apps/acme_corp/chats/used-1");
    await place.shows("used-1");
    await call("POST", `${base}/calls`, { agent: "planner", prompt_tokens: 1_234 });
    await page.getByRole("table", { name: "Calls" }).getByText("1,234").waitFor();
    await page.locator(".figures").getByText("1,234 in, 0 out").waitFor();
    let asked = 0;
    page.on("request", () => (asked += 1));
    await page.clock.fastForward(40_000);
    await page.getByText(/^[45]\d s ago$/).first().waitFor();
    assert.equal(asked, 0);
  });
});

test("a stream that ends is reopened after the last event, and unknown events are ignored", async () => {
  await chat("played-1");
  const message = (sequence) => ({
    sequence,
    event_id: `e${sequence}`,
    role: "user",
    content: `line ${sequence}`,
    created_at: "2026-01-01T00:00:00.000Z",
  });
  const event = (name, id, data) => `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
  const streams = [
    ": alive\n\nevent: weather\ndata: {}\n\n" + event("message", "0", message(0)) + "id: 1\nevent: mess",
    event("message", "1", message(1)) + "retry: 10\n\n",
    event("message", "2.1", message(2)),
  ];
  await watched(
    browser,
    service,
    async (page, place) => {
      const held = [];
      await page.route(/\/events\?/, async (route) => {
        held.push(route.request().headers()["last-event-id"]);
        const body = streams.shift();
        if (body === undefined) return route.fulfill({ status: 503, json: BUSY });
        await route.fulfill({ contentType: "text/event-stream", body });
      });
      await place.open("#/apps/acme_corp/chats/played-1");
      await page.getByRole("heading", { name: "No room" }).waitFor();
      await place.showsMessages(lines(0, 3));
      assert.deepEqual(held.slice(0, 4), [undefined, "0", "1", "2.1"]);
      await place.text("Reconnecting…").waitFor();
    },
    { answers: [503] },
  );
});

const BUSY = { type: "too-many-subscribers", title: "No room", status: 503, detail: "Later." };

const lines = (first, end) =>
  Array.from({ length: end - first }, (_, index) => [first + index, `line ${first + index}`]);

async function chat(chatId) {
  await call("POST", "/api/chats/acme_corp", { chat_id: chatId, workflow_name: "Picnic" });
  return `/api/chats/acme_corp/${chatId}`;
}

async function say(base, first, count) {
  const messages = lines(first, first + count).map(([, content]) => ({ role: "user", content }));
  await call("POST", `${base}/messages`, { messages });
}
