import type { UIMessageChunk } from "ai";
import type { Chat } from "../chat.js";
import { RepriseError } from "../errors.js";
import type * as models from "../openapi.js";
import { type StreamFields, writeAll } from "../streams.js";

/**
 * Writes an answer of the AI SDK to a stream of the chat, and returns the same chunks for the response of the endpoint.
 *
 * The answer goes on, and is stored, if the response is no longer read. `stored` settles when it is, and then the response ends:
 * with a chunk `abort` if a person has asked to stop, which cancels the answer, and with a chunk `error` if it could not be stored.
 * An answer that throws is stored as far as it came, and its response ends with a chunk `error`, too; `stored` throws the same.
 *
 * ```ts
 * const { chunks, stored } = streamAnswer(chat, result.toUIMessageStream());
 * waitUntil(stored);
 * return createUIMessageStreamResponse({ stream: chunks });
 * ```
 */
export function streamAnswer(
  chat: Chat,
  answer: ReadableStream<UIMessageChunk>,
  fields: StreamFields = {},
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
  const read = iterated(reader, (chunk) => response?.enqueue(chunk));
  const writing = chat.startStream("ui_message", fields);
  // Pages have shown what there is of an answer that breaks off.
  const stored = writing.then((writer) => writeAll(writer, read, { store: true }));
  stored
    .then(({ stream }) => (stream.state === "cancelled" ? ({ type: "abort" } as const) : undefined), errorChunk)
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

/** Returns what a page is told, without what only the endpoint should know. */
function errorChunk(error: unknown): UIMessageChunk {
  const errorText = error instanceof RepriseError ? "the answer could not be stored" : "the answer broke off";
  return { type: "error", errorText };
}

/** Reads a stream, which not every runtime can iterate over. It can be ended while it waits for the next item. */
function iterated<T>(reader: ReadableStreamDefaultReader<T>, onItem: (item: T) => void): AsyncIterable<T> {
  const iterator: AsyncIterator<T, undefined> = {
    async next() {
      const { done, value } = await reader.read();
      if (done) return { done, value: undefined };
      onItem(value);
      return { done, value };
    },
    async return() {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
