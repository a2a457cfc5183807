// Answers that are followed while an agent produces them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bothWatched, counts, watched } from "./browser.js";
import { browser, service, setUp } from "./setup.js";

setUp();

/** An agent that writes one answer. */
class Agent {
  constructor(chatId, headers = {}) {
    this.base = `${service.url}/api/chats/acme_corp/${chatId}`;
    this.headers = headers;
    this.next = 0;
  }

  /** Creates the chat. */
  async begin(chatId) {
    await this.post(`${service.url}/api/chats/acme_corp`, { chat_id: chatId, workflow_name: "Answers" });
    await this.post(`${this.base}/messages`, { role: "user", name: "user", content: "Tell me a story" });
  }

  /** Returns an agent that holds the lease. */
  async leased(owner) {
    const { fencing_token: token } = await this.post(`${this.base}/lease`, { owner, ttl_ms: 600_000 });
    const agent = new Agent("", { "fencing-token": String(token) });
    return Object.assign(agent, { base: this.base, next: this.next, token });
  }

  async start() {
    const stream = { stream_id: "s1", format: "text", agent: "writer" };
    await this.post(`${this.base}/streams`, stream);
  }

  async say(...chunks) {
    const { next } = await this.post(`${this.base}/streams/s1/chunks`, { from: this.next, chunks });
    this.next = next;
  }

  end() {
    return this.post(`${this.base}/streams/s1/end`, { state: "finished" });
  }

  async post(url, body, method = "POST") {
    const headers = { "content-type": "application/json", ...this.headers };
    const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }
}

const growing = (page) => page.getByRole("article", { name: "Unfinished answer of writer" });

/** Waits until a page shows exactly this text of an unfinished answer. */
async function grows(page, text) {
  await growing(page).getByText(text, { exact: true }).waitFor();
}

/** Waits until a page shows the stored answer, once, and nothing unfinished. */
async function isStored(page, text) {
  await page.locator('[data-sequence="1"]', { hasText: text }).waitFor();
  await growing(page).waitFor({ state: "detached" });
  await counts(page.getByText(text, { exact: true }), 1);
}

test("a page that is reloaded, and another that joins, see all of an answer, once", async () => {
  const agent = new Agent("story-1");
  await agent.begin("story-1");
  await bothWatched(browser, service, async ([one, other]) => {
    await one.open("#/apps/acme_corp/chats/story-1");
    await one.shows("story-1");
    await agent.start();
    await agent.say("Once ", "upon ");
    await grows(one.page, "Once upon ");
    await one.page.reload();
    await grows(one.page, "Once upon ");
    await agent.say("a time ");
    await other.open("#/apps/acme_corp/chats/story-1");
    await grows(other.page, "Once upon a time ");
    await one.screenshot("answering");
    await agent.say("there was.");
    for (const { page } of [one, other]) await grows(page, "Once upon a time there was.");
    await agent.end();
    for (const { page } of [one, other]) await isStored(page, "Once upon a time there was.");
  });
});

test("another agent goes on with an answer, or begins it again", async () => {
  const first = new Agent("story-2");
  await first.begin("story-2");
  const ann = await first.leased("ann");
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/chats/story-2");
    await place.shows("story-2");
    await ann.start();
    await ann.say("One ");
    await grows(page, "One ");
    await first.post(`${first.base}/lease/${ann.token}`, undefined, "DELETE");
    const bob = await first.leased("bob");
    await bob.post(`${first.base}/streams/s1/takeover`, { mode: "continue" });
    bob.next = 1;
    await assert.rejects(ann.say("late"), /fenced/);
    await bob.say("two ");
    await grows(page, "One two ");
    await first.post(`${first.base}/lease/${bob.token}`, undefined, "DELETE");
    const eve = await first.leased("eve");
    await eve.post(`${first.base}/streams/s1/takeover`, { mode: "restart" });
    await eve.say("Anew.");
    await grows(page, "Anew.");
    await eve.end();
    await isStored(page, "Anew.");
  });
});

test("an answer goes on through a restart of the service", async () => {
  const agent = new Agent("story-3");
  await agent.begin("story-3");
  const body = async (page, place) => {
    await place.open("#/apps/acme_corp/chats/story-3");
    await place.shows("story-3");
    await agent.start();
    await agent.say("Before ");
    await grows(page, "Before ");
    await service.pause();
    await place.text("Reconnecting…").waitFor();
    await service.resume();
    await agent.say("and after.");
    await grows(page, "Before and after.");
    await agent.end();
    await isStored(page, "Before and after.");
  };
  await watched(browser, service, body, { goesAway: true, answers: [503] });
});
