/** Answers that an endpoint streams to its page, and stores. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { UIMessageChunk } from "ai";
import { type Chat, InvalidRequest, Reprise } from "reprise-chats";
import { loadMessages, streamAnswer } from "reprise-chats/ai";
import { type Service, newApp, sharedService } from "./service.js";

let service: Service;
before(async () => {
  service = await sharedService();
});

const newChat = (): Promise<Chat> => new Reprise(service.url, newApp()).createChat("Picnic");

const START: UIMessageChunk[] = [{ type: "start" }, { type: "start-step" }, { type: "text-start", id: "1" }];
const END: UIMessageChunk[] = [{ type: "text-end", id: "1" }, { type: "finish-step" }, { type: "finish" }];
const delta = (said: string): UIMessageChunk => ({ type: "text-delta", id: "1", delta: said });

/** An answer that a test produces. */
class Answer {
  cancelled = false;
  readonly stream: ReadableStream<UIMessageChunk>;
  #controller: ReadableStreamDefaultController<UIMessageChunk> | undefined;

  constructor(...chunks: UIMessageChunk[]) {
    this.stream = new ReadableStream<UIMessageChunk>({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => {
        this.cancelled = true;
      },
    });
    this.add(...chunks);
  }

  add(...chunks: UIMessageChunk[]): void {
    for (const chunk of chunks) this.#controller?.enqueue(chunk);
  }

  end(): void {
    this.add(...END);
    this.#controller?.close();
  }

  breakOff(): void {
    this.#controller?.error(new Error("no model"));
  }
}

async function allOf(stream: ReadableStream<UIMessageChunk>): Promise<UIMessageChunk[]> {
  const read: UIMessageChunk[] = [];
  for (const reader = stream.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return read;
    read.push(value);
  }
}

/** Returns what is stored of the only answer. */
async function said(chat: Chat): Promise<string> {
  const [message] = await loadMessages(chat);
  return message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
}

test("a response ends when its answer is stored", async () => {
  const chat = await newChat();
  const answer = new Answer(...START, delta("To the lake"));
  const { chunks } = streamAnswer(chat, answer.stream);
  answer.end();
  assert.deepEqual(await allOf(chunks), [...START, delta("To the lake"), ...END]);
  assert.equal(await said(chat), "To the lake");
});

test("the response of an answer that cannot be stored ends with an error", async () => {
  const large = delta("x".repeat(1_200_000));
  const answer = new Answer(...START, large);
  const { chunks, stored } = streamAnswer(await newChat(), answer.stream);
  answer.end();
  assert.equal((await allOf(chunks)).at(-1)?.type, "error");
  await assert.rejects(stored, InvalidRequest);

  const unstarted = new Answer(...START);
  const other = streamAnswer(new Reprise(service.url, newApp()).chat("missing"), unstarted.stream);
  assert.deepEqual(
    (await allOf(other.chunks)).map(({ type }) => type),
    ["error"],
  );
  await assert.rejects(other.stored);
  assert.ok(unstarted.cancelled);
});

test("an answer that is cancelled ends while the model is silent", async () => {
  const chat = await newChat();
  const answer = new Answer(...START, delta("To "));
  const { chunks, stored } = streamAnswer(chat, answer.stream);
  const response = allOf(chunks);
  let [stream] = await chat.streams();
  while (stream === undefined) [stream] = await chat.streams();
  await chat.cancelStream(stream.stream_id);
  // The next chunk tells the agent, and none follows.
  answer.add(delta("the lake"));
  assert.deepEqual((await response).at(-1), { type: "abort" });
  assert.ok(answer.cancelled);
  assert.equal((await stored).stream.state, "cancelled");
  assert.equal(await said(chat), "To the lake");
});

test("an answer goes on when its response is no longer read", async () => {
  const chat = await newChat();
  const answer = new Answer(...START, delta("To "));
  const { chunks, stored } = streamAnswer(chat, answer.stream);
  await chunks.cancel();
  await pause(50);
  answer.add(delta("the lake"));
  answer.end();
  await stored;
  assert.ok(!answer.cancelled);
  assert.equal(await said(chat), "To the lake");
});

test("an answer that breaks off is stored as far as it came", async () => {
  const chat = await newChat();
  const answer = new Answer(...START, delta("To "));
  const { chunks, stored } = streamAnswer(chat, answer.stream);
  const response = allOf(chunks);
  await pause(300);
  answer.breakOff();
  assert.deepEqual((await response).at(-1), { type: "error", errorText: "the answer broke off" });
  await assert.rejects(stored, /no model/);
  assert.equal(await said(chat), "To ");
  const [stream] = await chat.streams();
  assert.deepEqual([stream?.state, stream?.error], ["failed", "Error: no model"]);
});
