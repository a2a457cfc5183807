import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Chat as UiChat } from "@ai-sdk/react";
import {
  type ChatTransport,
  DefaultChatTransport,
  type UIMessage,
  lastAssistantMessageIsCompleteWithToolCalls,
  safeValidateUIMessages,
  validateUIMessages,
} from "ai";
import { type Chat, Conflict, InvalidValue, Reprise, Unavailable } from "reprise-chats";
import { RepriseChatTransport, loadMessages, saveMessages, watchMessages } from "reprise-chats/ai";
import { answer } from "./answer.js";
import { respond } from "./readme/streaming.js";
import { Line, type Service, closedAddress, newApp, sharedService } from "./service.js";

const FIXTURE = new URL("../../../fixtures/written/ui-message.jsonl", import.meta.url);

type Route = (request: Request) => Promise<Response>;

let service: Service;
before(async () => {
  service = await sharedService();
});

const text = (said: string) => ({ type: "text" as const, text: said });
const texts = (messages: readonly UIMessage[]) =>
  messages.map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join(""));

/** Returns a transport to an endpoint of the application. */
function endpoint(route: Route): ChatTransport<UIMessage> {
  const fetch = (path: unknown, init?: RequestInit) => route(new Request(`http://application${String(path)}`, init));
  return new DefaultChatTransport({ fetch });
}

/** Returns a chat of the AI SDK that is stored, and the stored chat. */
function storedChat(
  reprise = new Reprise(service.url, newApp()),
  route: Route = answer,
  options: Partial<ConstructorParameters<typeof UiChat<UIMessage>>[0]> = {},
  storedBy: "page" | "endpoint" = "page",
): [UiChat<UIMessage>, Chat] {
  const transport = new RepriseChatTransport({ reprise, workflowName: "Picnic", transport: endpoint(route), storedBy });
  const chat = new UiChat<UIMessage>({ transport, ...options });
  return [chat, reprise.chat(chat.id)];
}

test("messages come back as they were saved", async () => {
  const { messages } = JSON.parse(readFileSync(FIXTURE, "utf8")) as { messages: UIMessage[] };
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  for (const length of [2, messages.length, messages.length]) {
    await saveMessages(chat, messages.slice(0, length));
    const loaded = await loadMessages(chat);
    assert.deepEqual(loaded, messages.slice(0, length));
    assert.deepEqual(await validateUIMessages({ messages: loaded }), loaded);
  }
  const [first] = messages;
  assert.ok(first);
  await saveMessages(chat, [first], { truncate: true });
  assert.deepEqual(await loadMessages(chat), [first]);
});

test("what a message was saved as first replaces no later state, unless the chat is truncated or its metadata differ", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  const liked = (like: boolean): UIMessage => ({ id: "m1", role: "user", parts: [text("lake")], metadata: { like } });
  for (const message of [liked(true), liked(false), liked(true)]) await saveMessages(chat, [message]);
  assert.deepEqual(await loadMessages(chat), [liked(false)]);
  await saveMessages(chat, [liked(true)], { truncate: true });
  assert.deepEqual(await loadMessages(chat), [liked(true)]);
  const timed = (like: boolean, at: number): UIMessage => ({ ...liked(like), metadata: { like, at } });
  for (const message of [timed(false, 1), timed(true, 2)]) await saveMessages(chat, [message]);
  assert.deepEqual(await loadMessages(chat), [timed(true, 2)]);
});

test("messages with a value that JSON does not have are refused, and none is stored", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  for (const m of [1n, new Map(), NaN]) {
    const messages: UIMessage[] = [true, false].map((isFirst) => {
      return { id: `m${isFirst}`, role: "user", parts: [text("lake")], metadata: isFirst ? { m: 1 } : { m } };
    });
    const refusal = { name: "InvalidValue", pointer: "/messages/1/metadata/m" };
    await assert.rejects(saveMessages(chat, messages), refusal);
  }
  assert.deepEqual(await loadMessages(chat), []);

  const [page] = storedChat();
  await page.sendMessage({ text: "park", metadata: { m: 1n } });
  assert.ok(page.error instanceof InvalidValue);
});

test("a long chat is saved in pieces", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  const messages = Array.from({ length: 120 }, (_, index): UIMessage => {
    const role = index % 2 === 0 ? "user" : "assistant";
    return { id: `m${index}`, role, parts: [text("x".repeat(index === 60 ? 3_000_000 : 10))] };
  });
  await saveMessages(chat, messages);
  assert.deepEqual(await loadMessages(chat), messages);
});

test("a chat is stored as it is shown, and goes on after a reload", async () => {
  const reprise = new Reprise(service.url, newApp());
  const [chat, stored] = storedChat(reprise);
  await chat.sendMessage({ text: "park" });
  await chat.sendMessage({ text: "lake" });
  assert.ifError(chat.error);
  assert.equal(chat.messages.length, 4);
  assert.match(texts(chat.messages)[3] ?? "", /^answer \d+ to lake$/);
  const loaded = await loadMessages(stored);
  assert.deepEqual(loaded, asJson(chat.messages));
  assert.equal((await safeValidateUIMessages({ messages: loaded })).success, true);

  const [again] = storedChat(reprise, answer, { id: chat.id, messages: loaded });
  await again.resumeStream();
  assert.equal(again.status, "ready");
  await again.sendMessage({ text: "beach" });
  assert.deepEqual(await loadMessages(stored), asJson(again.messages));
  assert.equal(again.messages.length, 6);
});

test("an answer that is regenerated and a message that is edited replace what was stored", async () => {
  const [chat, stored] = storedChat();
  await chat.sendMessage({ text: "park" });
  const [, first] = texts(chat.messages);
  await chat.regenerate();
  const [, second] = texts(chat.messages);
  assert.notEqual(first, second);
  assert.deepEqual(await loadMessages(stored), asJson(chat.messages));
  await chat.sendMessage({ text: "lake" });
  const messageId = chat.messages[0]?.id ?? "";
  for (const said of ["beach", "park"]) {
    await chat.sendMessage({ text: said, messageId });
    assert.equal(chat.messages.length, 2);
    assert.equal(texts(chat.messages)[0], said);
    assert.deepEqual(await loadMessages(stored), asJson(chat.messages));
  }
});

test("a page deletes nothing that another page has said meanwhile", async () => {
  for (const change of ["regenerate", "edit"] as const) {
    const app = newApp();
    const [first, stored] = storedChat(new Reprise(service.url, app));
    await first.sendMessage({ text: "park" });
    const messages = await loadMessages(stored);
    const [second] = storedChat(new Reprise(service.url, app), answer, { id: first.id, messages });
    await first.sendMessage({ text: "lake" });
    const before = await stored.history("ui-message");
    if (change === "regenerate") await second.regenerate();
    else await second.sendMessage({ text: "beach", messageId: messages[0]?.id ?? "" });
    assert.ok(second.error instanceof Conflict);
    assert.match(second.error.message, /2 messages.* this page has not loaded.*nothing was changed.*loadMessages/);
    assert.deepEqual(await stored.history("ui-message"), before);

    second.messages = await loadMessages(stored);
    second.clearError();
    assert.equal(second.messages.length, 4);
    if (change === "regenerate") await second.regenerate({ messageId: second.messages[1]?.id ?? "" });
    else await second.sendMessage({ text: "beach", messageId: messages[0]?.id ?? "" });
    assert.ifError(second.error);
    assert.deepEqual(await loadMessages(stored), asJson(second.messages));
    assert.equal(second.messages.length, 2);
  }
});

test("a page deletes what it was given by its server, and no message of a person that it does not know", async () => {
  for (const storedBy of ["page", "endpoint"] as const) {
    const reprise = new Reprise(service.url, newApp());
    const route: Route = storedBy === "page" ? answer : (request) => respond(reprise, request);
    const [first, stored] = storedChat(reprise, route, {}, storedBy);
    await first.sendMessage({ text: "park" });
    // As a server sends them, which has loaded them.
    const messages = JSON.parse(JSON.stringify(await loadMessages(stored))) as UIMessage[];
    const options = { reprise, workflowName: "Picnic", transport: endpoint(route), storedBy, messages };
    const page = () =>
      new UiChat<UIMessage>({ id: first.id, messages, transport: new RepriseChatTransport<UIMessage>(options) });
    const second = page();
    const third = page();
    await second.regenerate();
    assert.ifError(second.error);
    assert.equal((await loadMessages(stored)).length, 2);
    await second.sendMessage({ text: "lake" });
    await third.regenerate();
    assert.ok(third.error instanceof Conflict);
    assert.equal((await loadMessages(stored)).length, 4);
  }
});

test("the output of a tool of the page continues the answer that is stored", async () => {
  const call = {
    type: "tool-input-available",
    toolCallId: "c1",
    toolName: "place",
    input: { near: true },
    dynamic: true,
  };
  const streams = [
    [{ type: "start" }, { type: "start-step" }, call, { type: "finish-step" }, { type: "finish" }],
    [{ type: "start-step" }, ...["text-start", "text-end"].map((type) => ({ type, id: "1" })), { type: "finish-step" }],
  ];
  streams[1]?.splice(2, 0, { type: "text-delta", id: "1", delta: "To the lake" } as never);
  const route = () => Promise.resolve(streamOf(streams.shift() ?? []));
  const [chat, stored] = storedChat(undefined, route, {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
  });
  await chat.sendMessage({ text: "Where to?" });
  assert.deepEqual(await loadMessages(stored), asJson(chat.messages));
  await chat.addToolOutput({ tool: "place", toolCallId: "c1", output: { place: "lake" } });
  while (chat.status !== "ready" || streams.length > 0) await pause(10);
  assert.deepEqual(
    chat.messages[1]?.parts.map(({ type }) => type),
    ["step-start", "dynamic-tool", "step-start", "text"],
  );
  assert.equal(chat.messages.length, 2);
  assert.deepEqual(await loadMessages(stored), asJson(chat.messages));
});

test("an answer that is stopped or breaks off is stored as far as it came", async () => {
  const [stopped, stored] = storedChat();
  const sending = stopped.sendMessage({ text: "slowly" });
  while (!texts(stopped.messages).at(-1)?.startsWith("answer")) await pause(10);
  await stopped.stop();
  await sending;
  // The page goes on without waiting for it.
  while ((await loadMessages(stored)).length < 2) await pause(10);
  const [, said] = texts(await loadMessages(stored));
  assert.match(said ?? "", /^answer \d+/);
  assert.doesNotMatch(said ?? "", /slowly/);

  const pieces = [{ type: "start" }, { type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "I was" }];
  const [broken, alsoStored] = storedChat(undefined, () => Promise.resolve(streamOf(pieces, new Error("gone"))));
  await broken.sendMessage({ text: "Go on" });
  assert.equal(broken.status, "error");
  assert.deepEqual(texts(await loadMessages(alsoStored)), ["Go on", "I was"]);
});

test("an answer without content adds no message to the page", async () => {
  const note = { type: "data-note", data: 1, transient: true };
  const end = { type: "finish" };
  const empty = [[{ type: "error", errorText: "no model" }], [{ type: "start" }, end], [{ type: "start" }, note, end]];
  for (const chunks of empty) {
    const [chat, stored] = storedChat(undefined, () => Promise.resolve(streamOf(chunks)));
    await chat.sendMessage({ text: "park" });
    assert.deepEqual(texts(chat.messages), ["park"]);
    assert.deepEqual(await loadMessages(stored), asJson(chat.messages));
  }
});

test("a message that cannot be stored is not sent", async () => {
  const line = await Line.to(service);
  let requests = 0;
  const route: Route = (request) => {
    requests += 1;
    return answer(request);
  };
  const [chat, stored] = storedChat(new Reprise(line.url, newApp(), { retryForMs: 300 }), route);
  line.lostAnswers = 1_000;
  await chat.sendMessage({ text: "park" });
  assert.equal(chat.status, "error");
  assert.equal(requests, 0);
  await assert.rejects(stored.session(), Unavailable);
  line.lostAnswers = 0;
  await chat.sendMessage({ text: "lake" });
  assert.equal(requests, 1);
  assert.deepEqual(await loadMessages(stored), asJson(chat.messages));
  assert.equal(chat.messages.length, 3);
});

test("a message that waits for the service can be stopped", async () => {
  const [chat] = storedChat(new Reprise(await closedAddress(), newApp()));
  const sending = chat.sendMessage({ text: "park" });
  await pause(200);
  const begun = Date.now();
  await chat.stop();
  await sending;
  assert.ok(Date.now() - begun < 2_000);
  assert.equal(chat.status, "ready");
});

test("a message that the service refuses is reported once, and not sent again", async () => {
  const [chat, stored] = storedChat();
  await chat.sendMessage({ text: "park" });
  await chat.sendMessage({ text: "x".repeat(7_000_000) });
  assert.equal(chat.status, "error");
  await chat.sendMessage({ text: "lake" });
  assert.ifError(chat.error);
  assert.equal(chat.messages.length, 5);
  assert.deepEqual(await loadMessages(stored), asJson(chat.messages.toSpliced(2, 1)));
});

test("an answer of the endpoint that is stopped ends before the next message", async () => {
  const reprise = new Reprise(service.url, newApp());
  const [chat, stored] = storedChat(reprise, (request) => respond(reprise, request), {}, "endpoint");
  const sending = chat.sendMessage({ text: "slowly" });
  while (!texts(chat.messages).at(-1)?.startsWith("answer")) await pause(10);
  await chat.stop();
  await sending;
  await chat.regenerate();
  await chat.sendMessage({ text: "lake" });
  assert.deepEqual(texts(await loadMessages(stored)), texts(chat.messages));
  assert.equal(chat.messages.length, 4);
  // The answer that was stopped is deleted by the next one, and its stream with it.
  const states = (await stored.streams()).map(({ state }) => state);
  assert.deepEqual(states, ["finished", "finished"]);
});

test("a resumed answer of the endpoint that is stopped ends before the next message", async () => {
  const reprise = new Reprise(service.url, newApp());
  const route: Route = (request) => respond(reprise, request);
  const [left] = storedChat(reprise, route, {}, "endpoint");
  const sending = left.sendMessage({ text: "slowly" });
  while (!texts(left.messages).at(-1)?.startsWith("answer")) await pause(10);
  const messages = await loadMessages(reprise.chat(left.id));
  const [chat, stored] = storedChat(reprise, route, { id: left.id, messages }, "endpoint");
  const resuming = chat.resumeStream();
  while (!texts(chat.messages).at(-1)?.startsWith("answer")) await pause(10);
  await chat.stop();
  await resuming;
  await chat.sendMessage({ text: "lake" });
  await sending;
  assert.equal(chat.messages.length, 4);
  assert.deepEqual(texts(await loadMessages(stored)).toSpliced(1, 1), texts(chat.messages).toSpliced(1, 1));
  const states = (await stored.streams()).map(({ state }) => state);
  assert.deepEqual(states, ["finished", "cancelled"]);
});

test("a message that waits for the end of an answer can be stopped", async () => {
  const reprise = new Reprise(service.url, newApp());
  const [chat, stored] = storedChat(reprise, (request) => respond(reprise, request), {}, "endpoint");
  const sending = chat.sendMessage({ text: "slowly" });
  while (!texts(chat.messages).at(-1)?.startsWith("answer")) await pause(10);
  const other = await stored.startStream("ui_message");
  await chat.stop();
  await sending;
  const waiting = chat.sendMessage({ text: "lake" });
  await pause(500);
  const begun = Date.now();
  await chat.stop();
  await waiting;
  assert.ok(Date.now() - begun < 2_000);
  assert.equal(chat.status, "ready");
  await other.end();
});

test("what the endpoint of the README saves, and a page as well, is stored once", async () => {
  process.env["REPRISE_URL"] = service.url;
  process.env["REPRISE_APP"] = newApp();
  const reprise = new Reprise(service.url, process.env["REPRISE_APP"]);
  const { POST } = await import("./readme/route.js");
  const alone = new UiChat<UIMessage>({ transport: endpoint(POST) });
  await alone.sendMessage({ text: "park" });
  const [both, stored] = storedChat(reprise, POST);
  await both.sendMessage({ text: "lake" });
  await both.sendMessage({ text: "beach" });
  assert.deepEqual(await loadMessages(stored), asJson(both.messages));
  assert.deepEqual(await loadMessages(reprise.chat(alone.id)), asJson(alone.messages));
});

test("another page sees what is stored meanwhile", async () => {
  const reprise = new Reprise(service.url, newApp());
  const [chat, stored] = storedChat(reprise);
  await reprise.ensureChat(chat.id, "Picnic");
  const seen = watchMessages(stored);
  assert.deepEqual((await seen.next()).value, []);
  await chat.sendMessage({ text: "park" });
  for await (const messages of seen) {
    if (messages.length < 2) continue;
    assert.deepEqual(messages, asJson(chat.messages));
    break;
  }
});

/** Returns messages without the fields that have no value. */
function asJson(messages: readonly UIMessage[]): unknown {
  return JSON.parse(JSON.stringify(messages));
}

/** Returns the response of an endpoint that streams these chunks, and then breaks off if there is an error. */
function streamOf(chunks: readonly object[], error?: Error): Response {
  const lines = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  const body = new ReadableStream({
    async start(controller) {
      for (const line of lines) controller.enqueue(new TextEncoder().encode(line));
      // What is queued would be lost with the error.
      await pause(100);
      if (error === undefined) controller.close();
      else controller.error(error);
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
