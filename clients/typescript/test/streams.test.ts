/** Answers that an agent writes while others follow them. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { InvalidRequest, Reprise } from "reprise-chats";
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
