import { backoff, sleep } from "./clock.js";
import { Connection, type Fetch } from "./connection.js";
import { OutcomeUnknown, RepriseError, Unavailable, fromProblem } from "./errors.js";
import { jsonOf } from "./json.js";
import type { Problem } from "./openapi.js";
import { type Request, isWrite, search } from "./request.js";

export interface TransportOptions {
  /** The token of the caller if the service asks for one, or what returns it: it is asked before every request. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** How long an attempt may receive nothing, in milliseconds (30,000). */
  readonly timeoutMs?: number | undefined;
  /** How long a request is sent again, in milliseconds (60,000). */
  readonly retryForMs?: number | undefined;
  /** What is used in place of the global `fetch`. */
  readonly fetch?: Fetch | undefined;
}

/** Statuses after which the same request is sent again. */
const RETRIED = new Set([408, 429, 502, 503, 504]);
/** Statuses after which a write may be stored. */
const MAY_BE_STORED = new Set([502, 504]);
/** What Node.js says if there was no connection on which anything could be sent. Browsers do not say it. */
const NOTHING_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);
const MAX_PAUSE_MS = 5_000;

/** A response that was read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A request with its token. */
export type Prepared = [url: string, init: RequestInit];

/** Sends requests until they are answered, for a limited time. */
export class Transport {
  readonly #baseUrl: string;
  readonly #options: TransportOptions;

  constructor(baseUrl: string, options: TransportOptions) {
    this.#baseUrl = checkedUrl(baseUrl).href.replace(/\/+$/, "");
    this.#options = options;
  }

  /** How long an attempt may receive nothing, in milliseconds. */
  get timeoutMs(): number {
    return this.#options.timeoutMs ?? 30_000;
  }

  /** Returns the body of a response that is no error; `undefined` if it has none. */
  async json<T>(request: Request, signal?: AbortSignal): Promise<T> {
    const { status, body } = await this.send(request, signal);
    try {
      return (body.length === 0 ? undefined : JSON.parse(textOf(body))) as T;
    } catch (error) {
      throw new RepriseError("the response is not JSON", { status, cause: error });
    }
  }

  /** Returns a response that is no error. */
  async send(request: Request, signal?: AbortSignal): Promise<Answer> {
    const until = Date.now() + (this.#options.retryForMs ?? 60_000);
    const encoded = withBytes(request);
    let mayBeStored = false;
    for (let count = 1; ; count += 1) {
      const outcome = await this.#attempt(await encoded, signal);
      if (isAnswer(outcome) && (outcome.status < 300 || request.answers?.includes(outcome.status))) return outcome;
      mayBeStored ||= isWrite(request) && leavesOpen(outcome);
      const pauseMs = pauseAfter(outcome, count);
      if (pauseMs === undefined || Date.now() + pauseMs > until) throw failure(outcome, count, mayBeStored);
      await sleep(pauseMs, signal);
    }
  }

  /** Opens a connection, once; its status may be an error. */
  async open(
    [url, init]: Prepared,
    limits: { silenceMs: number; signal?: AbortSignal | undefined },
  ): Promise<Connection> {
    return Connection.open(this.#fetch, url, init, limits);
  }

  readonly #fetch: Fetch = (url, init) => (this.#options.fetch ?? globalThis.fetch)(url, init);

  /** Prepares a request; the error is that of the function that returns the token. */
  async prepare(request: Request): Promise<Prepared> {
    const { token } = this.#options;
    const headers = new Headers(request.headers);
    const bearer = typeof token === "function" ? await token() : token;
    if (bearer !== undefined) headers.set("authorization", `Bearer ${bearer}`);
    const init: RequestInit = { method: request.method, headers };
    if (request.content !== undefined) init.body = request.content;
    if (request.body !== undefined) headers.set("content-type", "application/json");
    return [this.#baseUrl + request.path + search(request.query), init];
  }

  async #attempt(request: Request, signal?: AbortSignal): Promise<Answer | Error> {
    const [url, init] = await this.prepare(request);
    request.onAttempt?.();
    const limits = { silenceMs: this.timeoutMs + (request.waitMs ?? 0), signal };
    try {
      const connection = await Connection.open(this.#fetch, url, init, limits);
      const { status, headers } = connection.response;
      return { status, headers, body: await connection.body() };
    } catch (error) {
      signal?.throwIfAborted();
      // A redirect is no fault of the network, and comes again.
      if (error instanceof RepriseError) throw error;
      return error instanceof Error ? error : new Error(String(error));
    }
  }
}

/** Returns a request with its body as bytes, which stay the same however often it is sent. */
async function withBytes(request: Request): Promise<Request> {
  const { body, content } = request;
  if (body !== undefined) return { ...request, content: new TextEncoder().encode(jsonOf(body)) };
  // A file is read once: it may change.
  if (content instanceof Blob) return { ...request, content: new Uint8Array(await content.arrayBuffer()) };
  return request;
}

function checkedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    const example = "it must begin with http:// or https://, such as http://127.0.0.1:8080";
    throw new TypeError(`the address of the service is ${JSON.stringify(text)}: ${example}`);
  }
  // The address is not repeated: it has a password.
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("the address of the service holds a user name or a password: remove it, and pass a token");
  }
  if (/[?#]/.test(text)) {
    throw new TypeError(`the address of the service holds a query or a fragment (${text}): remove it`);
  }
  return url;
}

/** Returns what went wrong below an error of `fetch`, which by itself says only that it failed. */
function deepest(error: Error): string {
  const causes: Error[] = [error];
  for (let next = error.cause; next instanceof Error && causes.length < 5; next = next.cause) causes.push(next);
  const last = causes.at(-1);
  // Node.js gives one error for each address that it has tried.
  const first: unknown = last instanceof AggregateError ? last.errors[0] : last;
  const said = first instanceof Error ? first.message : error.message;
  return said === error.message ? said : `${error.message}: ${said}`;
}

/** Returns the problem document of a response; `undefined` if it is none. */
export function problemOf(body: Uint8Array): Problem | undefined {
  try {
    const problem: unknown = JSON.parse(textOf(body));
    const isProblem = typeof problem === "object" && problem !== null && "code" in problem && "detail" in problem;
    return isProblem ? (problem as Problem) : undefined;
  } catch {
    return undefined;
  }
}

function textOf(body: Uint8Array): string {
  return new TextDecoder().decode(body);
}

function isAnswer(outcome: Answer | Error): outcome is Answer {
  return !(outcome instanceof Error);
}

/** Returns whether a write with this outcome may be stored. */
function leavesOpen(outcome: Answer | Error): boolean {
  if (isAnswer(outcome)) return MAY_BE_STORED.has(outcome.status);
  const cause = outcome.cause as { code?: unknown } | undefined;
  return !NOTHING_SENT.has(String(cause?.code));
}

/** Returns how long to wait before the next attempt; `undefined` if there is to be none. */
function pauseAfter(outcome: Answer | Error, count: number): number | undefined {
  if (isAnswer(outcome)) {
    if (!RETRIED.has(outcome.status)) return undefined;
    const wanted = retryAfterMs(outcome.headers);
    if (wanted !== undefined) return wanted;
  }
  return backoff(count, { firstMs: 100, mostMs: MAX_PAUSE_MS });
}

function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Returns the error for the last attempt. */
function failure(outcome: Answer | Error, count: number, mayBeStored: boolean): RepriseError {
  if (isAnswer(outcome) && !RETRIED.has(outcome.status)) return fromProblem(outcome.status, problemOf(outcome.body));
  const options = isAnswer(outcome) ? { status: outcome.status, problem: problemOf(outcome.body) } : { cause: outcome };
  const said = isAnswer(outcome) ? (options.problem?.detail ?? `status ${outcome.status}`) : deepest(outcome);
  if (mayBeStored) {
    const detail = `the write was not confirmed in ${count} attempts, the last of which failed: ${said}`;
    return new OutcomeUnknown(detail, options);
  }
  if (isAnswer(outcome)) return fromProblem(outcome.status, options.problem);
  return new Unavailable(`the service was not reached in ${count} attempts: ${said}`, options);
}
