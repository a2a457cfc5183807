import { Events } from "./events.js";
import { Lease, type LeaseOptions } from "./lease.js";
import type * as models from "./openapi.js";
import { pages } from "./pages.js";
import { type Query, type Request, isWrite, newId, path, withIds } from "./request.js";
import type { ListQueryOf, QueryOf } from "./client.js";
import { type StreamFields, StreamWriter, writeAll } from "./streams.js";
import { Turn, type TurnFields } from "./turn.js";
import type { Transport } from "./transport.js";

/** How long one request waits for the answer to a question at most. */
const MAX_WAIT_SECONDS = 25;

/** The service sends a comment at least this often, with much room for slow networks. */
const SILENCE_MS = 90_000;

/** What the requests of a chat have in common. */
export interface ChatOptions {
  /** The token of the lease with which the chat writes. */
  readonly fencingToken?: number | undefined;
  /** What ends every request, with its reason. A write that ends so may be stored. */
  readonly signal?: AbortSignal | undefined;
}

/** What a question may have beside its prompt. */
export type QuestionFields = Omit<models.NewInputRequest, "prompt">;

/** A chat of an app. */
export class Chat {
  readonly appId: string;
  readonly chatId: string;
  readonly #transport: Transport;
  readonly #options: ChatOptions;

  /** @internal */
  constructor(transport: Transport, appId: string, chatId: string, options: ChatOptions) {
    this.appId = appId;
    this.chatId = chatId;
    this.#transport = transport;
    this.#options = options;
  }

  /** The token of the lease with which the chat writes; `undefined` without one. */
  get fencingToken(): number | undefined {
    return this.#options.fencingToken;
  }

  /** What ends every request; `undefined` if nothing does. */
  get signal(): AbortSignal | undefined {
    return this.#options.signal;
  }

  /** Returns the same chat, whose requests have the token of a lease, or end with a signal. */
  with(options: ChatOptions): Chat {
    return new Chat(this.#transport, this.appId, this.chatId, { ...this.#options, ...options });
  }

  /** Creates the chat, unless there is one. @internal */
  async ensure(fields: models.CreateChatRequest): Promise<void> {
    await this.#send("PUT", [], { body: fields });
  }

  /** Reads the chat itself: its status, title and times. */
  session(): Promise<models.ChatSession> {
    return this.#get([]);
  }

  /** Returns what the caller may do in the chat: `read`, `say`, `run`, `bill` and `manage`, or some of them. */
  async permissions(): Promise<models.ChatPermission[]> {
    const chat = await this.#get<models.ChatWithPermissions>([], { permissions: true });
    return chat.permissions ?? [];
  }

  /**
   * Changes the chat: `title`, `metadata`, `visibility` and others; null clears a field.
   *
   * With `ifVersion` it is changed only if its `session_version` is this; otherwise the error is `PreconditionFailed`.
   */
  update(changes: models.ChatSessionChange, { ifVersion }: { ifVersion?: number } = {}): Promise<models.ChatSession> {
    const headers = ifVersion === undefined ? {} : { "if-match": `"${ifVersion}"` };
    return this.#send("PATCH", [], { body: changes, headers });
  }

  /** Creates a chat that continues from an earlier point of this one. */
  async fork(fields: models.ForkRequest = {}): Promise<Chat> {
    const headers = fields.chat_id === undefined ? { "idempotency-key": newId() } : {};
    const fork = await this.#send<models.ChatSession>("POST", ["fork"], { body: fields, headers });
    return new Chat(this.#transport, this.appId, fork.chat_id, { signal: this.signal });
  }

  // Messages

  /**
   * Appends messages, all or none; those without an `event_id` get one.
   *
   * With `expectedLastSequence` they are appended only if the chat has this many messages; otherwise the error is `Conflict`.
   */
  append(
    messages: models.NewMessage | readonly models.NewMessage[],
    { expectedLastSequence }: { expectedLastSequence?: number } = {},
  ): Promise<models.AppendResponse> {
    const body = { messages: withIds(listed(messages), "event_id") };
    return this.#send("POST", ["messages"], { body, query: { expected_last_sequence: expectedLastSequence } });
  }

  /** Appends messages in the format of another system, such as `openai` or `langchain`, all or none. */
  appendAs(
    dialect: models.StoredDialect,
    messages: object | readonly object[],
    { expectedLastSequence }: { expectedLastSequence?: number } = {},
  ): Promise<models.AppendResponse> {
    const query = { dialect, expected_last_sequence: expectedLastSequence };
    const headers = { "idempotency-key": newId() };
    return this.#send("POST", ["messages"], { body: { messages: listed(messages) }, query, headers });
  }

  /** Appends what the chat does not have yet of a whole transcript. Repeat it as often as you like. */
  sync(
    dialect: models.StoredDialect,
    messages: readonly object[],
    { system }: { system?: readonly unknown[] } = {},
  ): Promise<models.AppendResponse> {
    return this.#send("PUT", ["transcript"], { body: { messages, system }, query: { dialect } });
  }

  /** Reads the stored messages, the oldest first. */
  messages(query: Omit<ListQueryOf<"list_messages">, "newest"> = {}): AsyncGenerator<models.Message, void> {
    return pages(this.#transport, ["chats", this.appId, this.chatId, "messages"], query, this.signal);
  }

  /** Reads a stored message by its id. */
  message(eventId: string): Promise<models.Message> {
    return this.#get(["messages", "by-id", eventId]);
  }

  /** Replaces messages by tombstones; returns which ids the chat has. */
  async deleteMessages(eventIds: readonly string[]): Promise<models.DeletedMessages> {
    const done: models.DeletedMessages = { chat_id: this.chatId, deleted: [], unknown: [] };
    for (let from = 0; from < eventIds.length; from += MAX_DELETED) {
      const body = { event_ids: eventIds.slice(from, from + MAX_DELETED) };
      const some = await this.#send<models.DeletedMessages>("POST", ["messages", "delete"], { body });
      done.deleted.push(...some.deleted);
      done.unknown.push(...some.unknown);
    }
    return done;
  }

  /** Renders the transcript for a replay, in the format of a framework or a provider. */
  history(
    dialect: models.Dialect = "ag2",
    query: Omit<QueryOf<"get_history">, "dialect"> = {},
  ): Promise<models.HistoryResponse> {
    return this.#get(["history"], { ...query, dialect });
  }

  // Running a chat

  /** Reads everything that is needed to continue; `action` says what to do. */
  resume(query: QueryOf<"get_resume"> = {}): Promise<models.Resume> {
    return this.#get(["resume"], query);
  }

  /** Acquires the lease of the chat, and renews it until it is released. */
  acquireLease(owner: string, options: LeaseOptions = {}): Promise<Lease> {
    return Lease.acquire(this, owner, options);
  }

  /**
   * Runs a function that holds the lease of the chat.
   *
   * The function gets the chat whose writes carry the token of the lease, and the lease. If the lease is lost, its `signal` is
   * aborted, the requests of that chat end with `Fenced`, and so does the call. Pass the signal to everything that should stop.
   */
  async withLease<T>(
    owner: string,
    run: (held: Chat, lease: Lease) => Promise<T>,
    options: LeaseOptions = {},
  ): Promise<T> {
    const lease = await this.acquireLease(owner, options);
    return lease.during(run);
  }

  /**
   * Records a turn while a function runs, and writes it once, at its end, whichever way it ends: as `completed`, as `failed` if
   * the function throws, or as `interrupted` if it throws the reason of an aborted signal.
   */
  turn<T>(run: (turn: Turn) => Promise<T>, fields: TurnFields = {}): Promise<T> {
    return new Turn(this, fields).during(run);
  }

  // Streams

  /** Starts an answer that others follow while it is produced. */
  async startStream(format: models.NewStream["format"], fields: StreamFields = {}): Promise<StreamWriter> {
    const headers = fields.stream_id == null ? { "idempotency-key": newId() } : {};
    const stream = await this.#send<models.Stream>("POST", ["streams"], { body: { ...fields, format }, headers });
    return new StreamWriter(this, stream);
  }

  /**
   * Writes an answer from where it comes to a stream, until it ends, and stores it as a turn. An answer that throws ends the stream
   * as failed. If a person asks to stop, the stream ends as cancelled.
   */
  async stream(
    format: models.NewStream["format"],
    chunks: AsyncIterable<unknown>,
    fields: StreamFields = {},
  ): Promise<models.EndedStream> {
    return writeAll(await this.startStream(format, fields), chunks);
  }

  /**
   * Goes on with a stream whose agent is gone, after its chunks or from the beginning. The chat needs the token of a newer lease. A
   * restart with the `attempt` of the stream that it voids is safe to repeat.
   */
  async takeOverStream(streamId: string, mode: models.StreamTakeover["mode"], attempt?: number): Promise<StreamWriter> {
    const body = { mode, ...(attempt === undefined ? {} : { attempt }) };
    const stream = await this.#send<models.Stream>("POST", ["streams", streamId, "takeover"], { body });
    return new StreamWriter(this, stream);
  }

  /** Reads the streams that are running, or ended within the hour, the latest first. */
  async streams(): Promise<readonly models.Stream[]> {
    return (await this.#get<models.Streams>(["streams"])).streams;
  }

  /** Reads what was written to a stream, in order, until there is no more. */
  async *streamGroups(streamId: string): AsyncGenerator<models.StreamGroup, void> {
    let after: number | undefined;
    for (;;) {
      const { groups } = await this.#get<models.StreamGroups>(["streams", streamId, "chunks"], { after });
      if (groups.length === 0) return;
      yield* groups;
      after = groups.at(-1)?.group;
    }
  }

  /** Asks the agent of a stream to stop. */
  cancelStream(streamId: string): Promise<models.Stream> {
    return this.#send("POST", ["streams", streamId, "cancel"], {});
  }

  /** Adds chunks to a stream, the first at a position. */
  appendChunks(streamId: string, from: number, chunks: readonly unknown[]): Promise<models.StreamProgress> {
    return this.#send("POST", ["streams", streamId, "chunks"], { body: { from, chunks } });
  }

  /** Ends a stream, and stores what it holds as a turn. */
  endStream(streamId: string, end: models.StreamEnd): Promise<models.EndedStream> {
    return this.#send("POST", ["streams", streamId, "end"], { body: end });
  }

  /** Opens the running answer in the protocol of the AI SDK; its status is 204 if none is running. */
  async openUiMessageStream(): Promise<Response> {
    const request: Request = { method: "GET", path: this.#path(["ui-message-stream"]) };
    const connection = await this.#transport.open(await this.#transport.prepare(request), {
      silenceMs: SILENCE_MS,
      signal: this.signal,
    });
    return connection.handedOver();
  }

  /** Writes a whole turn, all of it or nothing. */
  appendTurn(turn: models.NewTurn): Promise<models.AppendedTurn> {
    return this.#send("POST", ["turns"], { body: { request_id: newId(), ...turn } });
  }

  /** Records calls of models: their tokens, costs and durations. All or none are recorded. */
  async recordCalls(calls: models.NewProviderCall | readonly models.NewProviderCall[]): Promise<models.RecordedCall[]> {
    const body = { calls: withIds(listed(calls), "call_id") };
    return (await this.#send<models.RecordCallsResponse>("POST", ["calls"], { body })).calls;
  }

  /** Reads the context snapshot. */
  async context(): Promise<models.ContextResponse["context_snapshot"]> {
    return (await this.#get<models.ContextResponse>(["context"])).context_snapshot;
  }

  /** Replaces the context snapshot. */
  async setContext(snapshot: models.Variables): Promise<void> {
    await this.#send("PUT", ["context"], { body: snapshot });
  }

  /** Merges changes into the context snapshot (RFC 7386): null removes a field. */
  async mergeContext(changes: models.Variables): Promise<void> {
    await this.#send("PATCH", ["context"], { body: changes, headers: { prefer: "return=minimal" } });
  }

  // Questions

  /**
   * Asks people a question, and waits until it is closed.
   *
   * With the same `request_id`, another process goes on waiting for the same question after a restart. With `waitMs`, a question
   * that is still open by then is returned as `pending`; without it, the call waits for as long as it takes.
   */
  async ask(
    prompt: string,
    { waitMs, ...fields }: QuestionFields & { waitMs?: number } = {},
  ): Promise<models.InputRequest> {
    const until = Date.now() + (waitMs ?? Infinity);
    const body: models.NewInputRequest = { request_id: newId(), prompt, ...fields };
    let question = await this.#send<models.InputRequest>("POST", ["input-requests"], { body });
    while (question.state === "pending") {
      const remainingMs = until - Date.now();
      if (remainingMs <= 0) break;
      question = await this.#waitForAnswer(question.request_id, remainingMs);
    }
    return question;
  }

  /** Reads a question when it is closed, or after a part of the time that remains. */
  #waitForAnswer(requestId: string, remainingMs: number): Promise<models.InputRequest> {
    // A caller that gives up on silent connections early may be behind a proxy that closes them early.
    const wantedMs = Math.min(MAX_WAIT_SECONDS * 1_000, this.#transport.timeoutMs / 2, remainingMs);
    // The service takes whole seconds.
    const seconds = Math.max(1, Math.round(wantedMs / 1_000));
    const options = { query: { wait: `${seconds}s` }, waitMs: seconds * 1_000 };
    return this.#send("GET", ["input-requests", requestId], options);
  }

  /** Answers a question. */
  answer(
    requestId: string,
    content: unknown,
    fields: Omit<models.NewInputAnswer, "content"> = {},
  ): Promise<models.AnsweredInput> {
    const body = { event_id: newId(), ...fields, content };
    return this.#send("POST", ["input-requests", requestId, "answer"], { body });
  }

  // Listening

  /**
   * Returns an iterator of what happens in the chat: each stored message once and in order, then what follows.
   *
   * It reconnects by itself, and goes on where it was. End it with `break`; if the signal of the chat is aborted, it throws the
   * reason of the signal.
   *
   * @param after the last sequence that the caller has, or the id of the last event; without it, from the beginning
   */
  events(after?: number | string): Events {
    const request = { method: "GET", path: this.#path(["events"]) } as const;
    return new Events(this.#transport, request, after, this.signal);
  }

  // The end

  /** Ends the chat as completed. */
  complete(fields: models.Completion = {}): Promise<models.ChatSession> {
    return this.#send("POST", ["complete"], { body: fields });
  }

  /** Pauses the chat. */
  pause(fields: models.Interruption = {}): Promise<models.ChatSession> {
    return this.#send("POST", ["pause"], { body: fields });
  }

  /** Ends the chat as failed. */
  fail(fields: models.Interruption = {}): Promise<models.ChatSession> {
    return this.#send("POST", ["fail"], { body: fields });
  }

  /** Sets the chat to running again. */
  reopen(): Promise<models.ChatSession> {
    return this.#send("POST", ["reopen"], { body: {} });
  }

  /** Deletes the chat; with `purge`, what was said in it is removed for good. */
  async delete({ purge }: { purge?: boolean } = {}): Promise<void> {
    await this.#send("DELETE", [], { query: { purge } });
  }

  /** @internal */
  sendLease<T>(
    method: "POST" | "PUT" | "DELETE",
    token: number | undefined,
    options: Pick<Request, "body" | "onAttempt"> = {},
  ): Promise<T> {
    return this.#send(method, token === undefined ? ["lease"] : ["lease", token], options);
  }

  async #get<T>(parts: readonly string[], query?: Query): Promise<T> {
    return this.#send("GET", parts, { query });
  }

  async #send<T>(
    method: Request["method"],
    parts: readonly (string | number)[],
    options: Pick<Request, "query" | "body" | "headers" | "waitMs" | "onAttempt"> = {},
  ): Promise<T> {
    const request: Request = { ...options, method, path: this.#path(parts) };
    const fencing =
      isWrite(request) && this.fencingToken !== undefined ? { "fencing-token": String(this.fencingToken) } : {};
    return this.#transport.json({ ...request, headers: { ...options.headers, ...fencing } }, this.signal);
  }

  #path(parts: readonly (string | number)[]): string {
    return path("api", "chats", this.appId, this.chatId, ...parts);
  }
}

/** How many messages may be deleted at a time. */
const MAX_DELETED = 100;

function listed<T extends object>(records: T | readonly T[]): readonly T[] {
  return Array.isArray(records) ? (records as readonly T[]) : [records as T];
}
