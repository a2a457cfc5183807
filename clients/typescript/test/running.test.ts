/** Answers that a page resumes, over connections that break. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Chat as UiChat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { type Chat, Reprise } from "reprise-chats";
import { RepriseChatTransport } from "reprise-chats/ai";
import { Line, type Service, newApp, sharedService } from "./service.js";

let service: Service;
before(async () => {
  service = await sharedService();
});

const START = [{ type: "start" }, { type: "start-step" }, { type: "text-start", id: "1" }];
const END = [{ type: "text-end", id: "1" }, { type: "finish-step" }, { type: "finish" }];
const delta = (said: string, id = "1") => ({ type: "text-delta", id, delta: said });

/** Returns a chat of the AI SDK that reads over a line, and the chat whose answers an agent writes without it. */
async function watched(): Promise<{ page: UiChat<UIMessage>; line: Line; chat: Chat }> {
  const app = newApp();
  const chat = await new Reprise(service.url, app).createChat("Picnic");
  const line = await Line.to(service);
  const transport = new RepriseChatTransport({ reprise: new Reprise(line.url, app), workflowName: "Picnic" });
  return { page: new UiChat<UIMessage>({ id: chat.chatId, transport }), line, chat };
}

function shown(page: UiChat<UIMessage>): string[] {
  return page.messages.map(({ parts }) => parts.map((part) => ("text" in part ? part.text : "")).join("|"));
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let waited = 0; !isTrue(); waited += 10) {
    assert.ok(waited < 20_000, "it does not come");
    await pause(10);
  }
}

test("a resumed answer goes on over connections that break, once", async () => {
  const { page, line, chat } = await watched();
  const answer = await chat.startStream("ui_message");
  const chunks = [
    ...START,
    ...["To ", "", "the ", "the "].map((said) => delta(said)),
    { type: "text-delta", id: "1", delta: "lake", providerMetadata: { p: { signature: "s" } } },
    delta(" 🏞"),
    delta("️!"),
    { type: "text-end", id: "1" },
    { type: "reasoning-start", id: "2" },
    { type: "reasoning-delta", id: "2", delta: "It " },
    { type: "reasoning-delta", id: "2", delta: "rains" },
    { type: "reasoning-end", id: "2" },
    { type: "tool-input-start", toolCallId: "c", toolName: "f" },
    { type: "tool-input-delta", toolCallId: "c", inputTextDelta: '{"a":' },
    { type: "tool-input-delta", toolCallId: "c", inputTextDelta: "1}" },
    { type: "tool-input-available", toolCallId: "c", toolName: "f", input: { a: 1 } },
    { type: "tool-output-available", toolCallId: "c", output: 2 },
    { type: "data-note", data: { n: 1 } },
    { type: "data-note", data: { n: 1 } },
    { type: "text-start", id: "3" },
    delta("So ", "3"),
    delta("be it", "3"),
    { type: "text-end", id: "3" },
    { type: "finish-step" },
    { type: "finish" },
  ];
  answer.add(chunks[0]);
  const resumed = page.resumeStream();
  await until(() => shown(page).length === 1);
  for (const [at, chunk] of chunks.slice(1).entries()) {
    answer.add(chunk);
    await pause(60);
    // Each connection ends a little later in what it repeats.
    line.brokenAfter = 700 + 40 * at;
    if (at % 3 === 0) line.hangUp();
  }
  line.brokenAfter = Infinity;
  await answer.end();
  await resumed;
  assert.ifError(page.error);
  assert.deepEqual(shown(page), ["|To the the lake 🏞️!|It rains||||So be it"]);
  const tools = page.messages[0]?.parts.filter(({ type }) => type === "tool-f");
  assert.deepEqual(
    tools?.map((part) => "output" in part && part.output),
    [2],
  );
});

test("an answer that ends while there is no connection is shown to its end", async () => {
  for (const [state, fields, expected] of [
    ["finished", {}, undefined],
    ["failed", { error: "no model" }, "no model"],
    ["cancelled", {}, undefined],
  ] as const) {
    const { page, line, chat } = await watched();
    const answer = await chat.startStream("ui_message");
    for (const chunk of [...START, delta("To the ")]) answer.add(chunk);
    const resumed = page.resumeStream();
    await until(() => shown(page)[0]?.endsWith("To the ") === true);
    line.lostAnswers = 1_000;
    line.hangUp();
    for (const chunk of [delta("lake"), ...END]) answer.add(chunk);
    await answer.end(state, fields);
    line.lostAnswers = 0;
    await resumed;
    assert.equal(page.error?.message, expected);
    assert.deepEqual(shown(page), ["|To the lake"], state);
  }
});

test("an answer that is begun again is shown from its beginning when it is resumed", async () => {
  const { page, chat } = await watched();
  const lease = await chat.acquireLease("first");
  const first = await lease.chat.startStream("ui_message");
  for (const chunk of [...START, delta("To the lake")]) first.add(chunk);
  const resumed = page.resumeStream();
  await until(() => shown(page)[0]?.endsWith("lake") === true);
  await first.leave();
  await lease.release();
  const next = await chat.acquireLease("second");
  const second = await next.chat.takeOverStream(first.streamId, "restart");
  for (const chunk of [...START, delta("To the beach")]) second.add(chunk);
  await resumed;
  // What was shown is void, and the page knows it.
  assert.equal(page.status, "error");
  assert.match(page.error?.message ?? "", /begun the answer again/);

  const again = page.resumeStream();
  for (const chunk of END) second.add(chunk);
  await second.end();
  await next.release();
  await again;
  assert.ifError(page.error);
  assert.deepEqual(shown(page), ["|To the beach"]);
});

test("a chat that does not exist yet has no answer to resume", async () => {
  const transport = new RepriseChatTransport({ reprise: new Reprise(service.url, newApp()), workflowName: "Picnic" });
  assert.equal(await transport.reconnectToStream({ chatId: "new" }), null);
});

test("a resumed answer that is stopped is read no further", async () => {
  const { page, chat } = await watched();
  await page.resumeStream();
  assert.equal(page.status, "ready");
  const answer = await chat.startStream("ui_message");
  for (const chunk of [...START, delta("To the lake")]) answer.add(chunk);
  const resumed = page.resumeStream();
  await until(() => shown(page).length === 1);
  await page.stop();
  await resumed;
  assert.equal(page.status, "ready");
  await answer.end();
});

test("an answer is resumed although the first connections fail", async () => {
  const { page, line, chat } = await watched();
  const answer = await chat.startStream("ui_message");
  for (const chunk of [...START, delta("To the lake")]) answer.add(chunk);
  line.lostAnswers = 3;
  const resumed = page.resumeStream();
  await until(() => shown(page)[0] === "|To the lake");
  for (const chunk of END) answer.add(chunk);
  await answer.end();
  await resumed;
  assert.ifError(page.error);
});
