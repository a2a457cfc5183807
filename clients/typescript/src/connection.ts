import { anyOf } from "./clock.js";
import { RepriseError } from "./errors.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A response whose connection is closed when nothing arrives for a while. */
export class Connection {
  readonly response: Response;
  readonly #silence: SilenceTimer;

  private constructor(response: Response, silence: SilenceTimer) {
    this.response = response;
    this.#silence = silence;
  }

  static async open(fetch: Fetch, url: string, init: RequestInit, limits: Limits): Promise<Connection> {
    const silence = new SilenceTimer(limits.silenceMs);
    const signal = anyOf(silence.signal, limits.signal);
    try {
      // A redirect that is followed makes a GET of a POST, which looks like a success and stores nothing.
      const response = await fetch(url, { ...init, redirect: "manual", signal });
      silence.restart();
      const connection = new Connection(response, silence);
      if (isRedirect(response)) {
        connection.close();
        throw redirectError(response, url, init.method);
      }
      return connection;
    } catch (error) {
      silence.stop();
      throw error;
    }
  }

  /** Reads the body as text, as it arrives, and closes the connection. */
  async *texts(): AsyncGenerator<string, void> {
    const decoder = new TextDecoder();
    try {
      for await (const bytes of this.#parts()) yield decoder.decode(bytes, { stream: true });
      yield decoder.decode();
    } finally {
      this.close();
    }
  }

  /** Reads the whole body. */
  async body(): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for await (const part of this.#parts()) parts.push(part);
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }

  /** Returns the response for a reader that knows nothing of the connection, which is closed when the body ends. */
  handedOver(): Response {
    const { body, headers, status, statusText } = this.response;
    // Not every browser has no body if there is no content, and a response that is made has to have none.
    if (body === null || status === 204) {
      this.close();
      return this.response;
    }
    const parts = this.#parts();
    const watched = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const { done, value } = await parts.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => {
        this.close();
      },
    });
    return new Response(watched, { headers, status, statusText });
  }

  /** Reads the body as it arrives, and closes the connection. */
  async *#parts(): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
    // Not every browser iterates over a stream.
    const reader = this.response.body?.getReader();
    try {
      while (reader !== undefined) {
        const { done, value } = await reader.read();
        this.#silence.restart();
        if (done) break;
        yield value;
      }
    } finally {
      this.close();
    }
  }

  close(): void {
    this.#silence.stop();
    this.#silence.abort(new DOMException("the response is not needed any more", "AbortError"));
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

function isRedirect({ type, status }: Response): boolean {
  return type === "opaqueredirect" || REDIRECTS.has(status);
}

function redirectError({ status, headers }: Response, url: string, method = "GET"): RepriseError {
  // Browsers hide the status and where it leads.
  const location = headers.get("location") ?? "";
  const known = location !== "" && URL.canParse(location, url) ? new URL(location, url).href : undefined;
  const target = known ?? "another address, which the response does not show";
  const detail = `${method} ${url} is redirected to ${target}: the client follows no redirects, give it the final address of the service`;
  return new RepriseError(detail, status === 0 ? {} : { status });
}

export interface Limits {
  /** How long nothing may arrive. */
  readonly silenceMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Aborts its signal if it is not restarted for a time. */
class SilenceTimer {
  readonly #controller = new AbortController();
  readonly #ms: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number) {
    this.#ms = ms;
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    this.stop();
    const abort = () => {
      this.abort(new DOMException(`nothing arrived for ${this.#ms} ms`, "TimeoutError"));
    };
    this.#timer = setTimeout(abort, this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }
}
