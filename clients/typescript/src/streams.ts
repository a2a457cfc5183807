import type { Chat } from "./chat.js";
import { anyOf, unlessAborted } from "./clock.js";
import { Conflict, Fenced, InvalidRequest, InvalidValue } from "./errors.js";
import { jsonOf } from "./json.js";
import type * as models from "./openapi.js";
import { WholeCharacters, wholeText } from "./whole_characters.js";

/** What a stream may have beside its format. */
export type StreamFields = Omit<models.NewStream, "format">;

/** How a stream ends. */
export type StreamEnd = Omit<models.StreamEnd, "state">;

/** The most chunks of one request, and their most bytes. */
const MOST_CHUNKS = 500;
const MOST_BYTES = 512 << 10;
/** How often an agent that produces nothing says that it is there. */
const ALIVE_MS = 10_000;

/**
 * An answer that others follow while it is produced.
 *
 * Chunks are sent in the background: those that have come while a request was under way are the next one. A chunk that is sent
 * again, because an answer was lost, is stored once.
 */
export class StreamWriter {
  readonly streamId: string;
  /**
   * Is aborted when a person asks to stop, when the signal of the chat is, and when the stream can no longer be written, with the
   * error as its reason.
   */
  readonly signal: AbortSignal;
  readonly #chat: Chat;
  readonly #stop = new AbortController();
  readonly #characters = new WholeCharacters();
  readonly #waiting: unknown[] = [];
  readonly #alive: ReturnType<typeof setInterval>;
  #position: number;
  #sending: Promise<void> | undefined;
  #failure: Error | undefined;

  /** @internal */
  constructor(chat: Chat, stream: models.Stream) {
    // What stops the answer must not keep what there is of it from being stored.
    this.#chat = chat.with({ signal: undefined });
    this.streamId = stream.stream_id;
    this.#position = stream.next;
    this.signal = chat.signal === undefined ? this.#stop.signal : anyOf(this.#stop.signal, chat.signal);
    this.#alive = setInterval(() => {
      if (this.#sending === undefined) this.#send(true);
    }, ALIVE_MS);
  }

  /** Adds a chunk. It is sent as soon as the one before it is stored. Throws `InvalidRequest` if JSON cannot hold it as it is. */
  add(chunk: unknown): void {
    this.#addAll(this.#characters.add(chunk));
  }

  /**
   * Waits until every chunk is stored, and ends the stream. What it holds is stored as a turn, in the same moment; not that of a
   * failed one, unless `store` is true.
   */
  async end(state: models.StreamEnd["state"] = "finished", fields: StreamEnd = {}): Promise<models.EndedStream> {
    this.#addAll(this.#characters.end());
    await this.#stored();
    return this.#chat.endStream(this.streamId, { ...fields, state });
  }

  /** Ends the stream of an answer that cannot be stored as failed, or its followers would wait for it. @internal */
  async endRefused(refusal: Error): Promise<void> {
    await this.#chat.endStream(this.streamId, { state: "failed", error: reasonText(refusal) });
  }

  /** Stops sending, and leaves the stream to the next holder of the lease. */
  async leave(): Promise<void> {
    await this.#stored();
  }

  /** Why the stream can no longer be written. @internal */
  get failure(): Error | undefined {
    return this.#failure;
  }

  #addAll(chunks: readonly unknown[]): void {
    if (this.#failure !== undefined || chunks.length === 0) return;
    chunks.forEach(checkJson);
    this.#waiting.push(...chunks);
    if (this.#sending === undefined) this.#send(false);
  }

  async #stored(): Promise<void> {
    clearInterval(this.#alive);
    while (this.#sending !== undefined) await this.#sending;
    if (this.#failure !== undefined) throw this.#failure;
  }

  #send(isAlive: boolean): void {
    this.#sending = this.#sendAll(isAlive)
      .catch((error: unknown) => {
        clearInterval(this.#alive);
        this.#failure = error instanceof Error ? error : new Conflict(String(error));
        this.#stop.abort(this.#failure);
      })
      .finally(() => {
        this.#sending = undefined;
        if (this.#failure === undefined && this.#waiting.length > 0) this.#send(false);
      });
  }

  async #sendAll(isAlive: boolean): Promise<void> {
    if (isAlive && this.#waiting.length === 0) await this.#sendChunks([]);
    while (this.#waiting.length > 0) await this.#sendChunks(this.#take());
  }

  /** Takes as many chunks as one request may have; a chunk that is too large for one is a request by itself, and refused. */
  #take(): unknown[] {
    let bytes = 0;
    const most = this.#waiting.slice(0, MOST_CHUNKS);
    const end = most.findIndex((chunk, at) => (bytes += bytesOf(chunk)) > MOST_BYTES && at > 0);
    return this.#waiting.splice(0, end === -1 ? most.length : end);
  }

  async #sendChunks(chunks: unknown[]): Promise<void> {
    const progress = await this.#chat.appendChunks(this.streamId, this.#position, chunks);
    this.#position += chunks.length;
    if (progress.cancel_requested && !this.signal.aborted) {
      this.#stop.abort(new DOMException("a person has asked to stop", "AbortError"));
    }
  }
}

/**
 * Writes chunks to a stream until they end, and ends it as they do. Returns what was stored.
 *
 * @param failed how the stream ends if the chunks throw
 * @param ending returns how it ends after the last chunk
 * @internal
 */
export async function writeAll(
  writer: StreamWriter,
  chunks: AsyncIterable<unknown>,
  failed: StreamEnd = {},
  ending: () => models.StreamEnd = () => ({ state: "finished" }),
): Promise<models.EndedStream> {
  const iterator = chunks[Symbol.asyncIterator]();
  let failure: { readonly error: unknown } | undefined;
  try {
    for (;;) {
      const next = await unlessAborted(iterator.next(), writer.signal);
      if (next === undefined || next.done === true) break;
      writer.add(next.value);
    }
  } catch (error) {
    failure = { error };
  }
  try {
    if (writer.signal.aborted) {
      // A generator ends only with its next chunk, so that its end is not waited for.
      void iterator.return?.().catch(() => undefined);
      if (writer.failure !== undefined) throw writer.failure;
      return await writer.end("cancelled");
    }
    if (failure === undefined) {
      const { state, ...fields } = ending();
      return await writer.end(state, fields);
    }
    await writer.end("failed", { ...failed, error: reasonText(failure.error) });
  } catch (error) {
    const isRefused = error instanceof InvalidRequest || (error instanceof Conflict && !(error instanceof Fenced));
    // A stream that has ended cannot end again.
    if (isRefused) await writer.endRefused(error).catch(() => undefined);
    throw error;
  }
  throw failure.error;
}

/** Throws if a chunk cannot be sent: the request of several chunks would not say which of them it is. */
function checkJson(chunk: unknown): void {
  try {
    if (jsonOf(chunk) !== undefined) return;
  } catch (error) {
    if (error instanceof InvalidValue) throw error;
    throw new InvalidRequest(`a chunk is not JSON: ${reasonText(error)}`, { cause: error });
  }
  throw new InvalidRequest(`a chunk is not JSON: ${String(chunk)}`);
}

function bytesOf(chunk: unknown): number {
  return new TextEncoder().encode(JSON.stringify(chunk)).length;
}

/** Returns a text about an error, as a stream may have it. @internal */
export function reasonText(error: unknown): string {
  return wholeText(String(error).slice(0, 1_000));
}
