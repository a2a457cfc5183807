import { backoff, sleep } from "./clock.js";
import { RepriseError, fromProblem } from "./errors.js";
import type * as models from "./openapi.js";
import type { Request } from "./request.js";
import { type ServerSentEvent, ServerSentEvents } from "./server_sent_events.js";
import { type Prepared, type Transport, problemOf } from "./transport.js";

/** Something that happened in a chat. Later versions of the service may send events with other names: ignore them. */
export type ChatEvent = {
  /** The position of the client after the event; `undefined` for an event without a place in the transcript. */
  readonly id: string | undefined;
} & (
  | { readonly name: "message" | "message-updated" | "message-deleted"; readonly data: models.Message }
  | { readonly name: "caught-up"; readonly data: models.CaughtUp }
  | { readonly name: "status"; readonly data: models.StatusChanged }
  | { readonly name: "context" | "artifact" | "chat"; readonly data: models.VersionChanged }
  | { readonly name: "input-request" | "input-response"; readonly data: models.InputRequest }
  | { readonly name: "usage"; readonly data: models.Usage }
  | { readonly name: "presence"; readonly data: models.Presence }
  | { readonly name: "stream-started" | "stream-stalled" | "stream-finished"; readonly data: models.Stream }
  | { readonly name: "stream-chunk"; readonly data: models.StreamChunk }
);

/** The service sends a comment at least this often, with much room for slow networks. */
const SILENCE_MS = 90_000;
/** Statuses after which a stream of events is opened again. */
export const REOPENED = new Set([408, 429, 500, 502, 503, 504]);
const MAX_PAUSE_MS = 10_000;

/** Something that happened to a document. Later versions of the service may send events with other names: ignore them. */
export type DocumentEvent = {
  /** The position of the client after the event. */
  readonly id: string | undefined;
} & (
  | { readonly name: "changed"; readonly data: { readonly path: string; readonly version: number } }
  | { readonly name: "deleted"; readonly data: { readonly path: string } }
  /** List the documents: every later change follows. */
  | { readonly name: "resync"; readonly data: Record<string, never> }
);

/** The events of a chat, or of documents, each once and in order, however often the connection breaks. */
export class Events<Event = ChatEvent> implements AsyncIterable<Event> {
  /** The id of the last event, to go on from there later. */
  lastId: string | undefined;
  readonly #transport: Transport;
  readonly #request: Request;
  readonly #signal: AbortSignal | undefined;

  /** @internal */
  constructor(transport: Transport, request: Request, after: number | string | undefined, signal?: AbortSignal) {
    this.#transport = transport;
    this.#request = request;
    this.#signal = signal;
    this.lastId = after === undefined ? undefined : String(after);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void> {
    let failures = 0;
    for (;;) {
      const stream = new ServerSentEvents();
      for await (const { name, data, id } of this.#connect(stream)) {
        failures = 0;
        this.lastId = id ?? this.lastId;
        yield { name, data: JSON.parse(data) as unknown, id } as Event;
      }
      failures += 1;
      const pauseMs = backoff(failures, { firstMs: 200, mostMs: MAX_PAUSE_MS });
      await sleep(Math.max(stream.retryMs ?? 0, pauseMs), this.#signal);
    }
  }

  /** Reads the events of one connection. */
  async *#connect(stream: ServerSentEvents): AsyncGenerator<ServerSentEvent, void> {
    const query = { ...this.#request.query, after: this.lastId };
    const request = { ...this.#request, headers: { accept: "text/event-stream" }, query };
    const texts = this.#texts(await this.#transport.prepare(request));
    try {
      for (;;) {
        const text = await this.#next(texts);
        if (text === undefined) return;
        yield* stream.add(text);
      }
    } finally {
      await texts.return();
    }
  }

  /** Returns the next piece of a connection; `undefined` if it has ended or is broken. */
  async #next(texts: AsyncGenerator<string, void>): Promise<string | undefined> {
    try {
      const { value } = await texts.next();
      return value ?? undefined;
    } catch (error) {
      this.#signal?.throwIfAborted();
      if (error instanceof RepriseError) throw error;
      return undefined;
    }
  }

  async *#texts(prepared: Prepared): AsyncGenerator<string, void> {
    const connection = await this.#transport.open(prepared, { silenceMs: SILENCE_MS, signal: this.#signal });
    const { ok, status } = connection.response;
    if (ok) {
      yield* connection.texts();
    } else {
      const body = await connection.body();
      if (!REOPENED.has(status)) throw fromProblem(status, problemOf(body));
    }
  }
}
