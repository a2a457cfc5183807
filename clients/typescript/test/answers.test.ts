/** Answers that an endpoint streams to its page, and stores. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Chat as UiChat } from "@ai-sdk/react";
import { type UIMessage, type UIMessageChunk, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { type Chat, InvalidRequest, Reprise } from "reprise-chats";
import { RepriseChatTransport, loadMessages, streamAnswer } from "reprise-chats/ai";
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

  end(chunks = END): void {
    this.add(...chunks);
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

test("an answer that says that it has failed is stored as far as it came", async () => {
  for (const more of [[], END]) {
    const chat = await newChat();
    const answer = new Answer(...START, delta("To "));
    const { chunks, stored } = streamAnswer(chat, answer.stream);
    const error: UIMessageChunk = { type: "error", errorText: "Overloaded" };
    answer.end([error, ...more]);
    assert.deepEqual(await allOf(chunks), [...START, delta("To "), error, ...more]);
    assert.equal((await stored).stream.state, "failed");
    const [stream] = await chat.streams();
    assert.deepEqual([stream?.state, stream?.error], ["failed", "Overloaded"]);
    assert.equal(await said(chat), "To ");
  }
});

test("an answer that says that it is aborted is cancelled", async () => {
  const chat = await newChat();
  const answer = new Answer(...START, delta("To "));
  const { chunks, stored } = streamAnswer(chat, answer.stream);
  answer.end([{ type: "abort", reason: "stopped" }]);
  assert.deepEqual(await allOf(chunks), [...START, delta("To "), { type: "abort", reason: "stopped" }]);
  assert.equal((await stored).stream.state, "cancelled");
  assert.equal(await said(chat), "To ");
});

test("an answer waits for a tool of the page and for an approval, and goes on as one message", async () => {
  const reprise = new Reprise(service.url, newApp());
  const call = (id: string, toolName: string): UIMessageChunk => {
    return { type: "tool-input-available", toolCallId: id, toolName, input: {} };
  };
  const answers = [
    new Answer(
      { type: "start", messageId: "answer" },
      call("c1", "place"),
      call("c2", "book"),
      { type: "tool-approval-request", toolCallId: "c2", approvalId: "a2" },
      { type: "finish" },
    ),
    // This one does not name the message.
    new Answer(
      { type: "start" },
      { type: "tool-output-available", toolCallId: "c2", output: "booked" },
      { type: "start-step" },
      ...START.slice(2),
      delta("To the lake"),
    ),
  ];
  const [first, second] = answers;
  first?.end([]);
  const transport = (): RepriseChatTransport =>
    new RepriseChatTransport({
      reprise,
      workflowName: "Picnic",
      storedBy: "endpoint",
      transport: {
        sendMessages: ({ chatId, messages: originalMessages }) => {
          const stream = answers.shift()?.stream ?? new ReadableStream();
          return Promise.resolve(streamAnswer(reprise.chat(chatId), stream, { originalMessages }).chunks);
        },
        reconnectToStream: () => Promise.resolve(null),
      },
    });
  const shared = transport();
  const page = new UiChat<UIMessage>({
    transport: shared,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
  });
  const stored = reprise.chat(page.id);
  await page.sendMessage({ text: "Where to?" });
  await page.addToolApprovalResponse({ id: "a2", approved: true });
  await page.addToolOutput({ tool: "place", toolCallId: "c1", output: "lake" });
  assert.equal(answers.length, 1, "a call that is approved has no output yet");
  const sending = page.sendMessage();
  const said = () => page.messages.at(-1)?.parts.map((part) => (part.type === "text" ? part.text : part.type));
  const whole = ["tool-place", "tool-book", "step-start", "To the lake"];
  while (said()?.length !== whole.length || said()?.at(-1) !== "To the lake") await pause(10);

  // A page that is loaded in the middle shows all of it.
  let run = 0;
  const other = new UiChat<UIMessage>({
    id: page.id,
    transport: transport(),
    messages: await loadMessages(stored),
    onToolCall: () => {
      run += 1;
    },
  });
  assert.equal(other.messages.length, 2);
  const resuming = other.resumeStream();
  while (other.messages.at(-1)?.parts.length !== whole.length) await pause(10);
  // So does the one that was shown all the time, under the id that it knows.
  const again = new UiChat<UIMessage>({ id: page.id, transport: shared, messages: page.messages });
  const resumingAgain = again.resumeStream();
  while (again.status !== "streaming") await pause(10);
  second?.end();
  await Promise.all([sending, resuming, resumingAgain]);
  assert.ifError(other.error);
  assert.equal(run, 0, "tools of the page are not run again");
  assert.deepEqual(
    again.messages.map(({ id }) => id),
    page.messages.map(({ id }) => id),
  );
  const parts = (messages: readonly UIMessage[]): unknown => {
    const unset = new Set(["state", "title", "rawInput", "errorText", "providerExecuted", "preliminary"]);
    const kept = (key: string, value: unknown): unknown =>
      unset.has(key) && value !== "output-available" ? undefined : value;
    return messages.map((message) => JSON.parse(JSON.stringify(message.parts, kept)) as unknown);
  };
  const loaded = await loadMessages(stored);
  assert.deepEqual(parts(loaded), parts(page.messages));
  assert.deepEqual(parts(other.messages), parts(page.messages));
  assert.deepEqual(
    loaded.at(-1)?.parts.map((part) => ("output" in part ? part.output : undefined)),
    ["lake", "booked", undefined, undefined],
  );
});
