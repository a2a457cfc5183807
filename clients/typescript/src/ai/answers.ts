import type { UIMessageChunk } from "ai";
import type { Chat } from "../chat.js";
import type * as models from "../openapi.js";
import type { StreamFields } from "../streams.js";

/**
 * Writes an answer of the AI SDK to a stream of the chat, and returns the same chunks for the response of the endpoint.
 *
 * The answer goes on, and is stored, if the response is no longer read. `stored` settles when it is.
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
  const [written, chunks] = answer.tee();
  const stored = chat.stream("ui_message", iterated(written), fields);
  // A caller that does not wait for it sees that the stream has not ended.
  stored.catch(() => undefined);
  return { chunks, stored };
}

/** Not every runtime iterates over a stream. */
async function* iterated<T>(stream: ReadableStream<T>): AsyncGenerator<T, void> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
