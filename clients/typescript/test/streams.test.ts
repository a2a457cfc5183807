/** Answers that an agent writes while others follow them. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Conflict, InvalidRequest, Reprise } from "reprise-chats";
import { type Service, all, newApp, sharedService } from "./service.js";

let service: Service;
before(async () => {
  service = await sharedService();
});

async function* of(chunks: readonly string[]): AsyncGenerator<string, void> {
  yield* chunks;
  await Promise.resolve();
}

test("large chunks are sent in as many requests as they need", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  const chunks = [...Array<string>(4).fill("世".repeat(200_000)), "x".repeat(500_000), "y".repeat(700_000)];
  const { turn } = await chat.stream("text", of(chunks));
  assert.ok(turn);
  const [message] = await all(chat.messages());
  assert.equal(message?.content, chunks.join(""));
});

test("a stream of which a chunk is refused ends as failed", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  for (const chunks of [["a", "x".repeat(1_200_000), "b"], ["x".repeat(1_200_000)]]) {
    await assert.rejects(chat.stream("text", of(chunks)), InvalidRequest);
    const [stream] = await chat.streams();
    assert.equal(stream?.state, "failed");
    assert.match(stream.error ?? "", /1048576/);
  }
});

test("a stream whose answer is stored as another turn ends as failed", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  const job = { request_id: "job-1" };
  async function* overtaken(): AsyncGenerator<string, void> {
    yield "two";
    await chat.stream("text", of(["one"]), job);
  }
  await assert.rejects(chat.stream("text", overtaken(), job), Conflict);
  // A job that runs again is refused when it starts.
  await assert.rejects(chat.stream("text", of(["three"]), job), Conflict);
  assert.deepEqual(
    (await chat.streams()).map(({ state }) => state),
    ["finished", "failed"],
  );
});

test("a stream that is cancelled ends while its agent waits for the next chunk", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  let isCancelled = false;
  async function* silent(): AsyncGenerator<string, void> {
    yield "To ";
    while (!isCancelled) await pause(10);
    yield "the lake";
    await new Promise(() => undefined);
  }
  const writing = chat.stream("text", silent());
  let [stream] = await chat.streams();
  while (stream?.next !== 1) [stream] = await chat.streams();
  await chat.cancelStream(stream.stream_id);
  isCancelled = true;
  assert.equal((await writing).stream.state, "cancelled");
  const [message] = await all(chat.messages());
  assert.equal(message?.content, "To the lake");
});

test("characters that are cut in half between chunks are stored whole", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  await chat.stream("text", of(["To the lake \ud83c", "\udfde!", "\ud83c and so on \ud83c"]));
  const [message] = await all(chat.messages());
  assert.equal(message?.content, "To the lake \u{1f3de}!\ufffd and so on \ufffd");

  const delta = (id: string, said: string) => ({ type: "text-delta", id, delta: said });
  const ids = ["1", "2"];
  async function* chunks(): AsyncGenerator<object, void> {
    yield* ids.map((id) => ({ type: "text-start", id }));
    yield* ids.map((id) => delta(id, "\ud83c"));
    yield { type: "data-note", data: 1, transient: true };
    yield delta("2", "\udfde");
    yield* ids.map((id) => ({ type: "text-end", id }));
    await Promise.resolve();
  }
  await chat.stream("ui_message", chunks());
  const { messages } = await chat.history("ui-message");
  assert.deepEqual(
    (messages.at(-1) as { parts?: { text: string }[] }).parts?.map(({ text }) => text),
    ["\ufffd", "\u{1f3de}"],
  );
});

test("an answer is stored whose tool is called with a number beyond 64 bits", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  const input = { weight: 1e20 };
  async function* chunks(): AsyncGenerator<unknown, void> {
    yield { type: "tool-input-available", toolCallId: "c1", toolName: "weigh", input };
    yield { type: "tool-output-available", toolCallId: "c1", output: { grams: 2 ** 64 } };
    await Promise.resolve();
  }
  await chat.stream("ui_message", chunks());
  const { messages } = await chat.history("ui-message");
  const [part] = (messages.at(-1) as { parts: { input: unknown; output: unknown }[] }).parts;
  assert.deepEqual([part?.input, part?.output], [input, { grams: 2 ** 64 }]);
});

test("a signal ends an answer, and what came of it is stored", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  const stop = new AbortController();
  async function* words(): AsyncGenerator<string, void> {
    yield "It is ";
    await pause(200);
    stop.abort();
    await pause(3_600_000, undefined, { ref: false });
  }
  const { stream, turn } = await chat.with({ signal: stop.signal }).stream("text", words());
  assert.equal(stream.state, "cancelled");
  assert.equal(turn?.messages.length, 1);
  const [message] = await all(chat.messages());
  assert.equal(message?.content, "It is ");
});

test("a chunk that is not JSON ends its stream as failed", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  const refused: [chunk: unknown, message: RegExp][] = [
    [circular, /not JSON/],
    [1n, /JSON cannot hold the BigInt 1/],
    [undefined, /not JSON/],
  ];
  for (const [chunk, message] of refused) {
    async function* chunks(): AsyncGenerator<unknown, void> {
      yield { type: "text-start", id: "t" };
      await Promise.resolve();
      yield chunk;
    }
    await assert.rejects(chat.stream("ui_message", chunks()), InvalidRequest);
    const [stream] = await chat.streams();
    assert.equal(stream?.state, "failed");
    assert.match(stream.error ?? "", message);
  }
});

test("an error with half of a character ends its stream as failed", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  async function* chunks(): AsyncGenerator<string, void> {
    yield "It is ";
    await Promise.resolve();
    throw new Error("cut off \ud83d");
  }
  await assert.rejects(chat.stream("text", chunks()), /cut off/);
  const [stream] = await chat.streams();
  assert.deepEqual([stream?.state, stream?.error], ["failed", "Error: cut off \ufffd"]);
});
