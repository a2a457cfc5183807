import type { UIMessageChunk } from "ai";
import type { Chat } from "../chat.js";
import { anyOf, backoff, sleep } from "../clock.js";
import { RepriseError, fromProblem } from "../errors.js";
import { REOPENED } from "../events.js";
import { ServerSentEvents } from "../server_sent_events.js";
import { problemOf } from "../transport.js";
import { Given, begunAgain } from "./given.js";

/** How long a lost connection is opened again. */
const RETRY_FOR_MS = 60_000;
const MAX_PAUSE_MS = 5_000;

/** Chunks of an answer from its beginning; returns whether they are all. */
type Chunks = AsyncGenerator<UIMessageChunk, boolean>;

/**
 * Returns the chunks of the running answer of a chat, each once, however often the connection breaks; null if none is running.
 *
 * If another agent begins the answer again, what was returned is void, and the stream breaks off as with a connection that is lost.
 */
export async function runningAnswer(chat: Chat, signal?: AbortSignal): Promise<ReadableStream<UIMessageChunk> | null> {
  const closed = new AbortController();
  const open = chat.with({ signal: anyOf(closed.signal, signal, chat.signal) });
  const response = await connected(open).catch((error: unknown) => {
    // It is created with its first message.
    if (error instanceof RepriseError && error.code === "chat-not-found") return undefined;
    throw error;
  });
  if (response === undefined) return null;
  const chunks = follow(open, chunksOf(response));
  return new ReadableStream<UIMessageChunk>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        // The connection is still open if the answer is begun again.
        closed.abort();
        throw error;
      }
    },
    cancel: () => {
      closed.abort();
    },
  });
}

/** Yields each chunk once, from one connection after the other. */
async function* follow(chat: Chat, first: Chunks): AsyncGenerator<UIMessageChunk, void> {
  const given = new Given();
  for (let chunks = first; ;) {
    given.repeat();
    for (;;) {
      const { done, value } = await chunks.next();
      if (done !== true) {
        const rest = given.rest(value);
        if (rest !== undefined) yield rest;
        continue;
      }
      if (value && !given.isRepeated) throw begunAgain();
      if (value) return;
      break;
    }
    const response = await connected(chat, 1);
    chunks = response === undefined ? lastAnswer(chat) : chunksOf(response);
  }
}

/** Asks for the answer until the service says whether one is running. */
async function connected(chat: Chat, failures = 0): Promise<Response | undefined> {
  const until = Date.now() + RETRY_FOR_MS;
  for (; ; failures += 1) {
    if (failures > 0) await sleep(backoff(failures, { firstMs: 200, mostMs: MAX_PAUSE_MS }), chat.signal);
    try {
      const response = await chat.openUiMessageStream();
      if (response.status === 204) return undefined;
      if (response.ok) return response;
      throw await refusal(response);
    } catch (error) {
      chat.signal?.throwIfAborted();
      const isFinal = error instanceof RepriseError && !REOPENED.has(error.status ?? 0);
      if (isFinal || Date.now() > until) throw error;
    }
  }
}

/** Reads one connection. */
async function* chunksOf(response: Response): Chunks {
  const events = new ServerSentEvents();
  const texts = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const read = await texts?.read().catch(() => undefined);
    // It has ended too early, or is broken.
    if (read?.value === undefined) return false;
    for (const { data } of events.add(read.value)) {
      if (data === "[DONE]") return true;
      yield JSON.parse(data) as UIMessageChunk;
    }
  }
}

/** Reads the answer that has ended while there was no connection. */
async function* lastAnswer(chat: Chat): Chunks {
  const stream = (await chat.streams()).find(({ format }) => format === "ui_message");
  if (stream === undefined) throw new TypeError("network: the connection was lost until the answer was gone");
  const chunks: UIMessageChunk[] = [];
  for await (const group of chat.streamGroups(stream.stream_id)) {
    if (group.event === "restarted") chunks.length = 0;
    chunks.push(...(group.chunks as UIMessageChunk[]));
  }
  yield* chunks;
  if (stream.state === "failed") yield { type: "error", errorText: stream.error ?? "the agent failed" };
  if (stream.state === "cancelled" || stream.state === "superseded") yield { type: "abort" };
  return stream.state !== "running";
}

async function refusal(response: Response): Promise<RepriseError> {
  return fromProblem(response.status, problemOf(new Uint8Array(await response.arrayBuffer())));
}
