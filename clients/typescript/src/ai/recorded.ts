import { type UIMessage, type UIMessageChunk, readUIMessageStream } from "ai";
import { newId } from "../request.js";

type Save = (message: UIMessage) => Promise<void>;

/**
 * Returns the same stream, which saves the message that it becomes before it ends, also if it breaks off or is cancelled.
 *
 * @param continued the message that the stream continues
 */
export function recorded(
  chunks: ReadableStream<UIMessageChunk>,
  continued: UIMessage | undefined,
  save: Save,
): ReadableStream<UIMessageChunk> {
  const reader = chunks.getReader();
  const record = new Recording(continued, save);
  return new ReadableStream<UIMessageChunk>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          for (const chunk of record.add(value)) controller.enqueue(chunk);
          return;
        }
      } catch (error) {
        await record.end();
        throw error;
      }
      await record.end();
      controller.close();
    },
    async cancel(reason) {
      await Promise.all([reader.cancel(reason), record.end()]);
    },
  });
}

/** A message that is put together from the chunks of its stream, and saved. */
class Recording {
  readonly #id: string;
  readonly #chunks = new TransformStream<UIMessageChunk, UIMessageChunk>();
  readonly #writer = this.#chunks.writable.getWriter();
  readonly #message: Promise<UIMessage | undefined>;
  readonly #save: Save;
  #hasStarted = false;

  constructor(continued: UIMessage | undefined, save: Save) {
    this.#id = continued?.id ?? newId();
    this.#save = save;
    const message = continued ?? { id: this.#id, role: "assistant" as const, parts: [] };
    this.#message = lastOf(readUIMessageStream({ message: structuredClone(message), stream: this.#chunks.readable }));
  }

  /** Adds a chunk; returns what the page is given. It has to know the id under which the message is saved, once it shows one. */
  add(chunk: UIMessageChunk): UIMessageChunk[] {
    const begins = !this.#hasStarted && isShown(chunk);
    const given: UIMessageChunk[] = begins && chunk.type !== "start" ? [{ type: "start" }, chunk] : [chunk];
    this.#hasStarted ||= begins;
    const named = given.map((it) =>
      it.type === "start" && this.#hasStarted ? { ...it, messageId: it.messageId ?? this.#id } : it,
    );
    // The reader takes all of them, so that none has to be waited for.
    for (const it of named) void this.#writer.write(it).catch(() => undefined);
    return named;
  }

  /** Saves the message, unless nothing was said. */
  async end(): Promise<void> {
    await this.#writer.close().catch(() => undefined);
    const message = await this.#message;
    if (message?.parts.some(({ type }) => type !== "step-start") === true) await this.#save(message);
  }
}

/** Returns whether a page shows a message for a chunk. */
function isShown(chunk: UIMessageChunk): boolean {
  switch (chunk.type) {
    case "start":
      return chunk.messageId !== undefined || chunk.messageMetadata !== undefined;
    case "finish":
    case "message-metadata":
      return chunk.messageMetadata !== undefined;
    case "start-step":
    case "finish-step":
    case "reset-step":
    case "abort":
    case "error":
      return false;
    default:
      return !("transient" in chunk && chunk.transient);
  }
}

async function lastOf<T>(items: AsyncIterable<T>): Promise<T | undefined> {
  let last: T | undefined;
  for await (const item of items) last = item;
  return last;
}
