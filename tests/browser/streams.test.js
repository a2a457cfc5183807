// Streams that end, break off or lose events while pages follow them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, reads, watched } from "./browser.js";
import { browser, call, service, setUp } from "./setup.js";

setUp();

test("an answer that ended while the page was hidden is shown once", async () => {
  const base = await chat("hidden-1", "Go");
  await begin(base, "s1", ["Half "]);
  await opened("hidden-1", async (page, place) => {
    await unfinished(page).getByText("Half").waitFor();
    await place.isHidden(true);
    await say(base, "s1", 1, ["and whole"]);
    await end(base, "s1");
    await place.isHidden(false);
    await place.showsMessages([
      [0, "Go"],
      [1, "Half and whole"],
    ]);
    await counts(unfinished(page), 0);
  });
});

test("an answer that ended around a restart of the service is shown once", async () => {
  const base = await chat("restart-1", "Go");
  await begin(base, "s1", ["Half "]);
  const body = async (page, place) => {
    await unfinished(page).getByText("Half").waitFor();
    await service.pause();
    await place.text("Reconnecting…").waitFor();
    await service.resume();
    await say(base, "s1", 1, ["and whole"]);
    await end(base, "s1");
    await place.text("Live").waitFor();
    await place.showsMessages([
      [0, "Go"],
      [1, "Half and whole"],
    ]);
    await counts(unfinished(page), 0);
  };
  await opened("restart-1", body, { goesAway: true, answers: [503] });
});

test("an answer in a chat without messages is visible", async () => {
  const base = await chat("first-1");
  await opened("first-1", async (page, place) => {
    await place.text("This chat has no messages yet.").waitFor();
    await begin(base, "s1", ["The first words"]);
    await unfinished(page).getByText("The first words").waitFor();
    await counts(page.getByText("This chat has no messages yet."), 1);
    assert.equal(await place.text("This chat has no messages yet.").isVisible(), false);
    await end(base, "s1", { state: "cancelled", store: false });
    await counts(unfinished(page), 0);
    await page.getByRole("article", { name: "Broken answer" }).waitFor();
  });
});

test("an answer that breaks off leaves its reason, until the chat goes on", async () => {
  const base = await chat("broken-1", "Go");
  await opened("broken-1", async (page, place) => {
    const note = page.getByRole("article", { name: "Broken answer" });
    const tells = () => reads(note, /The answer of\s*writer\s*failed.*HTTP 502 from booking.*not stored/);
    await begin(base, "s1", ["Let me see"]);
    await unfinished(page).waitFor();
    await end(base, "s1", { state: "failed", error: "HTTP 502 from booking" });
    await tells();
    await counts(unfinished(page), 0);

    await page.reload();
    await place.shows("broken-1");
    await tells();
    await page.getByRole("link", { name: "Turns" }).click();
    await page.locator(".part").getByText("HTTP 502 from booking").waitFor();
    await page.getByRole("link", { name: "Messages", exact: true }).click();

    await begin(base, "s2", ["Once more"]);
    await unfinished(page).waitFor();
    await counts(note, 0);
    await end(base, "s2", { state: "cancelled" });
    await reads(note, /The answer of\s*writer\s*was cancelled/);
    await call("POST", `${base}/messages`, { role: "user", name: "user", content: "Never mind" });
    await counts(note, 0);
    await page.reload();
    await place.shows("broken-1");
    await counts(note, 0);
  });
});

test("chunks that come twice are skipped, and a new attempt clears the text", async () => {
  const started = (attempt, next) => event("stream-started", stream({ attempt, next }));
  const events = [
    CAUGHT_UP,
    started(1, 0),
    chunk(1, 0, ["One ", "two "]),
    chunk(1, 0, ["One ", "two "]),
    chunk(1, 1, ["two ", "three"]),
  ];
  await played("twice-1", [events.join("")], async (page) => {
    await unfinished(page).getByText("One two three", { exact: true }).waitFor();
  });
  const restarted = [...events, started(2, 0), chunk(1, 3, [" late"]), chunk(2, 0, ["Anew"])];
  await played("attempt-1", [restarted.join("")], async (page) => {
    await unfinished(page).getByText("Anew", { exact: true }).waitFor();
  });
  await played("attempt-2", [[...events, chunk(2, 0, ["Unannounced"])].join("")], async (page) => {
    await unfinished(page).getByText("Unannounced", { exact: true }).waitFor();
  });
});

test("a chunk that was left out makes the page connect again", async () => {
  const started = event("stream-started", stream({ attempt: 1, next: 0 }));
  const begun = [CAUGHT_UP, started, chunk(1, 0, ["One "])];
  const streams = [
    [...begun, chunk(1, 2, ["three"])].join(""),
    [CAUGHT_UP, started, chunk(1, 0, ["One two three"], 3)].join(""),
  ];
  await played("gap-1", streams, async (page) => {
    await unfinished(page).getByText("One two three", { exact: true }).waitFor();
  });
  // The overlap of chunks that were joined cannot be told apart.
  const joined = [[...begun, chunk(1, 0, ["One two "], 2)].join(""), streams[1]];
  await played("gap-2", joined, async (page) => {
    await unfinished(page).getByText("One two three", { exact: true }).waitFor();
  });
});

test("an answer in chunks of the AI SDK shows its parts as they come", async () => {
  const base = await chat("parts-1", "Go");
  await opened("parts-1", async (page) => {
    await begin(base, "s1", [], "ui_message");
    const first = [
      { type: "start", messageId: "m1" },
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "First the " },
      { type: "reasoning-delta", id: "r", delta: "weather" },
      { type: "reasoning-end", id: "r" },
      { type: "text-start", id: "t1" },
      { type: "text-delta", id: "t1", delta: "I look" },
      { type: "text-end", id: "t1" },
      { type: "tool-input-start", toolCallId: "c1", toolName: "forecast" },
      { type: "tool-input-delta", toolCallId: "c1", inputTextDelta: '{"day"' },
    ];
    await say(base, "s1", 0, first);
    const answer = unfinished(page);
    await answer.getByText("I look", { exact: true }).waitFor();
    await reads(answer.locator(".reasoning summary"), /^Reasoning 17 characters$/);
    assert.equal(await answer.getByText("First the weather").isVisible(), false);
    const tool = answer.locator(".tool-call");
    await reads(tool, /^calls forecast\s*running$/);
    const second = [
      { type: "tool-input-available", toolCallId: "c1", toolName: "forecast", input: { day: 7 } },
      { type: "tool-output-error", toolCallId: "c1", errorText: "no such day" },
      { type: "text-start", id: "t1" },
      { type: "text-delta", id: "t1", delta: "Rain, " },
      { type: "text-delta", id: "t1", delta: "maybe" },
    ];
    await say(base, "s1", first.length, second);
    await answer.getByText("Rain, maybe", { exact: true }).waitFor();
    await reads(tool, /failed.*"day": 7.*no such day/s);
    assert.deepEqual(await answer.locator("p.words").allTextContents(), [
      "First the weather",
      "I look",
      "Rain, maybe",
    ]);
  });
});

test("an answer in updates of ACP shows its parts as they come", async () => {
  const base = await chat("parts-2", "Go");
  await opened("parts-2", async (page) => {
    const text = (text) => ({ type: "text", text });
    await begin(base, "s1", [
      { sessionUpdate: "agent_thought_chunk", content: text("Hm") },
      { sessionUpdate: "agent_message_chunk", content: text("I re") },
      { sessionUpdate: "agent_message_chunk", content: text("ad") },
      { sessionUpdate: "tool_call", toolCallId: "c", title: "Read", kind: "read", status: "pending" },
      { sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed", rawOutput: "lines" },
    ], "acp");
    const answer = unfinished(page);
    await answer.getByText("I read", { exact: true }).waitFor();
    await reads(answer.locator(".tool-call"), /^calls Read\s*result\s*Result\s*lines$/);
    await reads(answer.locator(".reasoning"), /2 characters\s*Hm/);
  });
});

const unfinished = (page) => page.locator(".unfinished");

async function chat(chatId, said) {
  const base = `/api/chats/acme_corp/${chatId}`;
  await call("POST", "/api/chats/acme_corp", { chat_id: chatId, workflow_name: "Answers" });
  if (said) await call("POST", `${base}/messages`, { role: "user", name: "user", content: said });
  return base;
}

async function begin(base, id, chunks, format = "text") {
  await call("POST", `${base}/streams`, { stream_id: id, format, agent: "writer" });
  if (chunks.length > 0) await say(base, id, 0, chunks);
}

const say = (base, id, from, chunks) => call("POST", `${base}/streams/${id}/chunks`, { from, chunks });
const end = (base, id, how = { state: "finished" }) => call("POST", `${base}/streams/${id}/end`, how);

async function opened(chatId, body, options) {
  const shown = async (page, place) => {
    await place.open(`#/apps/acme_corp/chats/${chatId}`);
    await place.shows(chatId);
    await body(page, place);
  };
  await watched(browser, service, shown, options);
}

/** Opens a chat whose live connections bring these texts, one after the other, and later ones nothing. */
async function played(chatId, streams, body) {
  await chat(chatId, "Go");
  await watched(browser, service, async (page, place) => {
    let connections = 0;
    await page.route(/\/events\?/, async (route) => {
      const text = streams[connections];
      connections += 1;
      if (text === undefined) return;
      // A response that ends is a connection that ends: it is long until the next one.
      const events = `retry: 600000\n\n${text}`;
      await route.fulfill({ contentType: "text/event-stream", body: events });
    });
    await place.open(`#/apps/acme_corp/chats/${chatId}`);
    await body(page, place);
    assert.ok(connections >= streams.length, `${connections} connections`);
  });
}

const event = (name, data) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

const stream = (more) => ({
  stream_id: "s1",
  format: "text",
  agent: "writer",
  state: "running",
  error: null,
  last_sequence: null,
  ...more,
});

const chunk = (attempt, from, chunks, next = from + chunks.length) =>
  event("stream-chunk", { stream_id: "s1", attempt, from, next, chunks });

const CAUGHT_UP = event("caught-up", {
  sequence: 0,
  revision: 0,
  status: "running",
  status_reason: null,
  context_version: 0,
  artifact_version: 0,
  session_version: 1,
  pending_inputs: [],
});
