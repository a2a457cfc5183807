import { Chat } from "./chat.js";
import { Documents } from "./documents.js";
import type * as models from "./openapi.js";
import { type ListOptions, pages } from "./pages.js";
import { type Request, newId, path } from "./request.js";
import { Transport, type TransportOptions } from "./transport.js";

/** The parameters of a query, without those that the client sets. */
export type QueryOf<Operation extends keyof models.operations> = Omit<
  NonNullable<models.operations[Operation]["parameters"]["query"]>,
  "cursor"
>;

/** The parameters of a list. */
export type ListQueryOf<Operation extends keyof models.operations> = Omit<QueryOf<Operation>, "limit"> &
  // A mapped type may stand where any parameter may, and an interface may not.
  Pick<ListOptions, keyof ListOptions>;

/**
 * A client of one app.
 *
 * Every request is sent again until it is answered, for `retryForMs`: a service that restarts, or a database that elects, is
 * not seen by the caller. Writes keep their ids, so that none is stored twice.
 *
 * It uses `fetch` alone, so it runs in Node.js and in browsers. Pages of another origin need the setting
 * `auth.allowed_origins` of the service. Numbers are those of JavaScript: integers beyond 2^53 lose digits.
 */
export class Reprise {
  readonly appId: string;
  readonly #transport: Transport;
  readonly #signal: AbortSignal | undefined;

  /**
   * @param baseUrl the address of the service, such as `http://127.0.0.1:8080`
   * @param appId the app whose chats are meant
   */
  constructor(baseUrl: string, appId: string, options: TransportOptions & { readonly signal?: AbortSignal } = {}) {
    this.appId = appId;
    this.#signal = options.signal;
    this.#transport = new Transport(baseUrl, options);
  }

  /** Returns a chat by its id, without asking for it. */
  chat(chatId: string): Chat {
    return new Chat(this.#transport, this.appId, chatId, { signal: this.#signal });
  }

  /**
   * Creates a chat.
   *
   * With a `chat_id` the call is safe to repeat by another process, too: the same fields get the chat as it is now.
   */
  async createChat(workflowName: string, fields: Omit<models.CreateChatRequest, "workflow_name"> = {}): Promise<Chat> {
    const body: models.CreateChatRequest = { workflow_name: workflowName, ...fields };
    const headers = fields.chat_id === undefined ? { "idempotency-key": newId() } : {};
    const created = await this.#json<models.ChatSession>({
      method: "POST",
      path: path("api", "chats", this.appId),
      body,
      headers,
    });
    return this.chat(created.chat_id);
  }

  /** Creates a chat unless there is one with the id, which must be of the same workflow. */
  async ensureChat(
    chatId: string,
    workflowName: string,
    fields: Omit<models.CreateChatRequest, "workflow_name" | "chat_id"> = {},
  ): Promise<Chat> {
    const chat = this.chat(chatId);
    await chat.ensure({ workflow_name: workflowName, ...fields });
    return chat;
  }

  /** Lists the chats of the app. */
  chats(query: ListQueryOf<"list_chats"> = {}): AsyncGenerator<models.ListedChat, void> {
    return pages(this.#transport, ["chats", this.appId], query, this.#signal);
  }

  /** Lists the questions of all chats that wait for an answer. */
  pendingQuestions(query: ListQueryOf<"list_pending_inputs"> = {}): AsyncGenerator<models.PendingInputRequest, void> {
    return pages(this.#transport, ["input-requests", this.appId], query, this.#signal);
  }

  /** Finds messages by what was said, the newest first. */
  search(
    words: string,
    query: Omit<ListQueryOf<"search_messages">, "q"> = {},
  ): AsyncGenerator<models.HitResponse, void> {
    return pages(this.#transport, ["search", this.appId], { ...query, q: words }, this.#signal);
  }

  /** The documents of the app. */
  get documents(): Documents {
    return new Documents(this.#transport, this.appId, this.#signal);
  }

  /**
   * Sends any request of the API, such as `request("GET", "/api/health/ready")`, and returns its JSON.
   *
   * It may be sent several times: give a `POST` the id of what it stores, or the header `idempotency-key`.
   */
  async request<T>(
    method: Request["method"],
    path: string,
    options: { query?: Request["query"]; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<T> {
    if (!path.startsWith("/")) {
      throw new TypeError(`the path is ${JSON.stringify(path)}: it must begin with a slash, such as /api/health/ready`);
    }
    return this.#json<T>({ method, path, ...options });
  }

  #json<T>(request: Request): Promise<T> {
    return this.#transport.json<T>(request, this.#signal);
  }
}
