import type { UIMessage, UIMessageChunk } from "ai";
import type { Chat } from "../chat.js";
import { RepriseError } from "../errors.js";
import type * as models from "../openapi.js";
import { reasonText, type StreamFields, writeAll } from "../streams.js";
import { saveMessages } from "./messages.js";

export interface AnswerOptions extends StreamFields {
  /**
   * The messages that the page sent, as they are given to `toUIMessageStream`. If the last one is an answer, the page has added to
   * it: outputs of tools, or what a person approved. This is stored first, and the answer goes on with it.
   */
  readonly originalMessages?: readonly UIMessage[];
}

/**
 * Writes an answer of the AI SDK to a stream of the chat, and returns the same chunks for the response of the endpoint.
 *
 * The answer goes on, and is stored, if the response is no longer read. `stored` settles when it is, and then the response ends:
 * with a chunk `abort` if a person has asked to stop, which cancels the answer, and with a chunk `error` if it could not be stored.
 * An answer that throws is stored as far as it came, and its response ends with a chunk `error`, too; `stored` throws the same.
 * One that says itself that it has failed (a chunk `error`) or is aborted (`abort`) is stored as far as it came, and its stream ends
 * as failed or cancelled.
 *
 * ```ts
 * const answer = toUIMessageStream({ stream, originalMessages });
 * const { chunks, stored } = streamAnswer(chat, answer, { originalMessages });
 * waitUntil(stored);
 * return createUIMessageStreamResponse({ stream: chunks });
 * ```
 */
export function streamAnswer(
  chat: Chat,
  answer: ReadableStream<UIMessageChunk>,
  { originalMessages = [], ...fields }: AnswerOptions = {},
): { readonly chunks: ReadableStream<UIMessageChunk>; readonly stored: Promise<models.EndedStream> } {
  let response: ReadableStreamDefaultController<UIMessageChunk> | undefined;
  const chunks = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      response = controller;
    },
    cancel: () => {
      response = undefined;
    },
  });
  const reader = answer.getReader();
  const last = originalMessages.at(-1);
  const continued = last?.role === "assistant" ? last : undefined;
  let ending: models.StreamEnd = { state: "finished" };
  const read = iterated(reader, (chunk) => {
    if (chunk.type === "error") ending = { state: "failed", error: reasonText(chunk.errorText), store: true };
    else if (chunk.type === "abort" && ending.state === "finished") ending = { state: "cancelled" };
    const named = continued === undefined ? chunk : continuing(chunk, continued.id);
    response?.enqueue(named);
    return named;
  });
  const writing = saveMessages(chat, continued === undefined ? [] : [continued]).then(() =>
    chat.startStream("ui_message", fields),
  );
  // Pages have shown what there is of an answer that breaks off.
  const stored = writing.then((writer) => writeAll(writer, read, { store: true }, () => ending));
  const isStopped = (stream: models.Stream): boolean => stream.state === "cancelled" && ending.state !== "cancelled";
  stored
    .then(({ stream }) => (isStopped(stream) ? ({ type: "abort" } as const) : undefined), errorChunk)
    .then((last) => {
      if (last !== undefined) response?.enqueue(last);
      response?.close();
      // It is read to its end, unless its stream could not be started.
      return reader.cancel();
    })
    // A caller that does not wait for `stored` sees the end of the response.
    .catch(() => undefined);
  return { chunks, stored };
}

/** Returns the first chunk of an answer with the id of the message that it goes on with. */
function continuing(chunk: UIMessageChunk, messageId: string): UIMessageChunk {
  return chunk.type === "start" ? { ...chunk, messageId: chunk.messageId ?? messageId } : chunk;
}

/** Returns what a page is told, without what only the endpoint should know. */
function errorChunk(error: unknown): UIMessageChunk {
  const errorText = error instanceof RepriseError ? "the answer could not be stored" : "the answer broke off";
  return { type: "error", errorText };
}

/** Reads a stream, which not every runtime can iterate over, and changes its items. It can be ended while it waits for the next one. */
function iterated<T>(reader: ReadableStreamDefaultReader<T>, change: (item: T) => T): AsyncIterable<T> {
  const iterator: AsyncIterator<T, undefined> = {
    async next() {
      const { done, value } = await reader.read();
      if (done) return { done, value: undefined };
      return { done, value: change(value) };
    },
    async return() {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
