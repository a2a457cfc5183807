import type { ListQueryOf } from "./client.js";
import { Conflict, RepriseError } from "./errors.js";
import { type DocumentEvent, Events } from "./events.js";
import { checkText, jsonOf } from "./json.js";
import type * as models from "./openapi.js";
import { checkedLimit, pages } from "./pages.js";
import { type Query, type Request, newId, path } from "./request.js";
import type { Answer, Transport } from "./transport.js";

/** The content of a document, or a range of it. */
export interface DocumentContent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where the range begins. */
  readonly start: number;
  /** How many bytes the whole document has. */
  readonly size: number;
  readonly contentType: string;
  /** Changes with every write; for `ifMatch`. */
  readonly entityTag: string;
}

/** What a document is created with. With a `chat_id` it has the rights of the chat, and is deleted with it. */
export interface DocumentFields {
  readonly chat_id?: string;
  readonly user_id?: string;
  readonly team_id?: string;
  readonly visibility?: models.Visibility;
  readonly ttl_seconds?: number;
}

/** What is stored: bytes and text as they are, everything else as JSON. */
export type NewContent = ArrayBuffer | ArrayBufferView | Blob | string | number | boolean | null | JsonObject;

/** A list or an object of JSON: no `Map`, no `Set`, no stream and no promise, of which JSON keeps nothing. */
type JsonObject =
  Readonly<Record<string, unknown>> | (object & { readonly [Symbol.toStringTag]?: never; readonly getReader?: never });

export interface WriteOptions extends DocumentFields {
  readonly contentType?: string;
}

export interface PutOptions extends WriteOptions {
  /** Replaces the document only if its entity tag is this; otherwise the error is `PreconditionFailed`. */
  readonly ifMatch?: string;
  /** Only creates the document; otherwise the error is `PreconditionFailed`. */
  readonly onlyCreate?: boolean;
}

/** How many bytes one request may write, and one answer may hold. */
export const MAX_BODY = 8 * 1_024 * 1_024;
/** How often a long read starts again because the document was replaced meanwhile. */
const MAX_READ_ATTEMPTS = 5;
/** The status of a range that begins at the end of a document, or behind it. */
const BEHIND_THE_END = 416;

/**
 * The documents of an app: content under a path, such as `notes/2026/lake`, that is replaced, appended to and listed.
 *
 * A path is 1 to 32 segments joined by `/`, each 1 to 256 bytes; all but the last are its namespace. One write holds at most
 * 8 MiB, a document at most 1 GiB.
 */
export class Documents {
  readonly #transport: Transport;
  readonly #appId: string;
  readonly #signal: AbortSignal | undefined;

  /** @internal */
  constructor(transport: Transport, appId: string, signal: AbortSignal | undefined) {
    this.#transport = transport;
    this.#appId = appId;
    this.#signal = signal;
  }

  /** Replaces the content of a document, and creates the document if there is none. */
  put(
    documentPath: string,
    content: NewContent,
    { ifMatch, onlyCreate, ...options }: PutOptions = {},
  ): Promise<models.Document> {
    const condition: Record<string, string> = {
      ...(ifMatch === undefined ? {} : { "if-match": quoted(ifMatch) }),
      ...(onlyCreate === true ? { "if-none-match": "*" } : {}),
    };
    const request = this.#write("PUT", documentPath, content, options);
    return this.#json({ ...request, headers: { ...request.headers, ...condition } });
  }

  /**
   * Appends to a document, and creates it if there is none.
   *
   * With an `offset` it appends only if the document has this many bytes; otherwise the error is `PreconditionFailed`. If exactly
   * these bytes are at this offset already, the service takes the call for a retry and stores nothing.
   */
  append(
    documentPath: string,
    content: NewContent,
    { offset, ...options }: WriteOptions & { readonly offset?: number | undefined } = {},
  ): Promise<models.AppendedDocument> {
    const request = this.#write("POST", documentPath, content, options);
    return this.#json({ ...request, query: { ...request.query, offset } });
  }

  /**
   * Reads the bytes from `start` to before `end`, or to the end of the document; without either, all of it.
   *
   * What is behind the end of the document is read as empty. A read that takes several requests is what the document was at the
   * first of them; the error is `Conflict` if the document is replaced all the time.
   */
  async read(
    documentPath: string,
    { start = 0, end }: { start?: number; end?: number } = {},
  ): Promise<DocumentContent> {
    if (start < 0) throw new RangeError(`a range must not begin at ${start}`);
    if (end !== undefined && end <= start) throw new RangeError(`a range must end after ${start}, not at ${end}`);
    for (let attempt = 0; attempt < MAX_READ_ATTEMPTS; attempt += 1) {
      const content = await this.#readVersion(documentPath, start, end);
      if (content !== undefined) return content;
    }
    throw new Conflict(`${documentPath} was replaced during each of ${MAX_READ_ATTEMPTS} attempts to read it`);
  }

  /** Deletes a document; nothing happens if there is none. */
  async delete(documentPath: string, { ifMatch }: { ifMatch?: string } = {}): Promise<void> {
    const headers: Record<string, string> = ifMatch === undefined ? {} : { "if-match": quoted(ifMatch) };
    await this.#json({ method: "DELETE", path: this.#path(documentPath), headers });
  }

  /** Lists the documents below a namespace, ordered by their paths. With `content`, documents of up to 1 MiB have theirs. */
  list(
    namespace?: string,
    query: Omit<ListQueryOf<"list_documents">, "namespace"> = {},
  ): AsyncGenerator<models.ListedDocument, void> {
    return pages(this.#transport, ["documents", this.#appId], { ...query, namespace }, this.#signal);
  }

  /** Deletes the documents below a namespace; returns how many there were. */
  async deleteAll(namespace: string): Promise<number> {
    const request: Request = { method: "DELETE", path: path("api", "documents", this.#appId), query: { namespace } };
    let count = 0;
    for (;;) {
      const { deleted, has_more } = await this.#json<models.DeletedDocuments>(request);
      count += deleted;
      if (!has_more) return count;
    }
  }

  /** Lists the namespaces below another one that have documents, each cut off at a depth below it. */
  async *namespaces(
    within?: string,
    { limit, ...query }: Omit<ListQueryOf<"list_document_namespaces">, "namespace"> = {},
  ): AsyncGenerator<string, void> {
    const parts = ["document-namespaces", this.#appId];
    const listed = pages<models.Namespace>(this.#transport, parts, { ...query, namespace: within }, this.#signal);
    let remaining = checkedLimit(limit);
    let previous: string | undefined;
    while (remaining > 0) {
      const { done, value } = await listed.next();
      if (done === true) return;
      // The first one of a page may be the last one of the page before.
      if (value.namespace === previous) continue;
      yield value.namespace;
      previous = value.namespace;
      remaining -= 1;
    }
  }

  /**
   * Follows the documents below a namespace: `for await (const event of documents.events("notes"))`.
   *
   * The first event is `resync`, which comes again whenever changes may be missing: list the documents then. Only a token of the
   * role `service` hears of deletions one by one; others get `resync`.
   *
   * @param after the `lastId` of an earlier iteration
   */
  events(namespace?: string, after?: string): Events<DocumentEvent> {
    const request: Request = {
      method: "GET",
      path: path("api", "document-events", this.#appId),
      query: { namespace },
    };
    return new Events(this.#transport, request, after, this.#signal);
  }

  /** Reads a range in as many requests as it takes; `undefined` if the document is replaced meanwhile. */
  async #readVersion(documentPath: string, start: number, end = Infinity): Promise<DocumentContent | undefined> {
    const first = await this.#readPart(documentPath, start, end);
    const parts = [first.bytes];
    const stop = Math.min(end, first.size);
    for (let at = start + first.bytes.length; at < stop;) {
      const part = await this.#readPart(documentPath, at, stop);
      if (contentIdOf(part) !== contentIdOf(first)) return undefined;
      parts.push(part.bytes);
      at += part.bytes.length;
    }
    return { ...first, bytes: new Uint8Array(await new Blob(parts).arrayBuffer()) };
  }

  async #readPart(documentPath: string, start: number, end: number): Promise<DocumentContent> {
    const range = `bytes=${start}-${end === Infinity ? "" : end - 1}`;
    const request: Request = {
      method: "GET",
      path: this.#path(documentPath),
      headers: { range },
      answers: [BEHIND_THE_END],
    };
    const answer = await this.#transport.send(request, this.#signal);
    const content = contentOf(answer, start, Math.min(end - start, MAX_BODY));
    if (answer.status !== BEHIND_THE_END) return content;
    // The type in this response is that of a problem.
    const { headers } = await this.#transport.send({ method: "HEAD", path: this.#path(documentPath) }, this.#signal);
    return { ...content, contentType: headers.get("content-type") ?? content.contentType };
  }

  #write(method: "PUT" | "POST", documentPath: string, content: NewContent, options: WriteOptions): Request {
    const { contentType, ...fields } = options;
    const [bytes, type] = encoded(content);
    const headers = { "content-type": contentType ?? type, "idempotency-key": newId() };
    const query: Query = { ...fields };
    return { method, path: this.#path(documentPath), content: bytes, headers, query };
  }

  #json<T>(request: Request): Promise<T> {
    return this.#transport.json(request, this.#signal);
  }

  #path(documentPath: string): string {
    return path("api", "documents", this.#appId, ...documentPath.split("/"));
  }
}

function encoded(content: NewContent): [content: Uint8Array<ArrayBuffer> | Blob, contentType: string] {
  if (content instanceof Blob) return [content, content.type || BYTES];
  // A copy: the caller may change or transfer the bytes before they are sent again.
  if (content instanceof ArrayBuffer) return [new Uint8Array(content).slice(), BYTES];
  if (ArrayBuffer.isView(content)) {
    return [new Uint8Array(new Uint8Array(content.buffer, content.byteOffset, content.byteLength)), BYTES];
  }
  const encoder = new TextEncoder();
  if (typeof content === "string") {
    checkText(content, "");
    return [encoder.encode(content), "text/plain; charset=utf-8"];
  }
  if (!isJson(content)) {
    const accepted = "bytes (an ArrayBuffer, a view of one, a Blob), a text, or what JSON has";
    throw new TypeError(`a document cannot hold a value of the kind ${kindOf(content)}: pass ${accepted}`);
  }
  return [encoder.encode(jsonOf(content)), "application/json"];
}

const BYTES = "application/octet-stream";

/** Returns whether JSON keeps a value: of an object of another class, it keeps only the fields, if it has any. */
function isJson(value: unknown): boolean {
  if (typeof value !== "object") return typeof value === "number" || typeof value === "boolean";
  if (value === null || Array.isArray(value)) return true;
  if ("toJSON" in value) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  // That of a plain object has none, also if the object comes from another frame.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function kindOf(value: unknown): string {
  return typeof value === "object" && value !== null ? value.constructor.name : typeof value;
}

function contentOf({ status, headers, body }: Answer, start: number, wanted: number): DocumentContent {
  const bytes = status === BEHIND_THE_END ? new Uint8Array() : body;
  const [, size] = /^bytes (?:\d+-\d+|\*)\/(\d+)$/.exec(headers.get("content-range") ?? "") ?? [];
  // A service that does not show the header to pages of other origins still shows them where the document ends.
  if (size === undefined && bytes.length === wanted) {
    throw new RepriseError("the response does not say how long the document is (Content-Range)", { status });
  }
  return {
    bytes,
    start,
    size: size === undefined ? start + bytes.length : Number(size),
    contentType: headers.get("content-type") ?? "application/octet-stream",
    entityTag: unquoted(headers.get("etag") ?? ""),
  };
}

/** Returns what stays the same in the entity tag of a document that only grows. */
function contentIdOf({ entityTag }: DocumentContent): string {
  return entityTag.slice(0, entityTag.lastIndexOf("-"));
}

function quoted(tag: string): string {
  return tag === "*" ? tag : `"${unquoted(tag)}"`;
}

function unquoted(tag: string): string {
  return tag.replace(/^W\//, "").replaceAll('"', "");
}
