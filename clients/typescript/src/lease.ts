import type { Chat } from "./chat.js";
import { anyOf, sleep } from "./clock.js";
import { Busy, Conflict, Fenced, NotFound } from "./errors.js";
import type * as models from "./openapi.js";
import { newId } from "./request.js";

export interface LeaseOptions {
  /** How long the lease is held without a renewal, in milliseconds (30,000). It is renewed three times as often. */
  readonly ttlMs?: number;
  /** How long to wait for a lease that another worker holds, in milliseconds (0); then the error is `Busy`. */
  readonly waitMs?: number;
}

/** The lease of a chat, which is renewed until it is released or lost. */
export class Lease {
  /** The chat whose writes carry the token of the lease, and whose requests end when the lease is lost. */
  readonly chat: Chat;
  readonly fencingToken: number;
  readonly #unleased: Chat;
  readonly #ttlMs: number;
  readonly #lost = new AbortController();
  readonly #released = new AbortController();
  #releasing: Promise<void> | undefined;

  private constructor(chat: Chat, lease: models.Lease, ttlMs: number) {
    this.fencingToken = lease.fencing_token;
    this.chat = chat.with({ fencingToken: lease.fencing_token, signal: anyOf(chat.signal, this.signal) });
    this.#unleased = chat;
    this.#ttlMs = ttlMs;
  }

  /** @internal */
  static async acquire(chat: Chat, owner: string, { ttlMs = 30_000, waitMs = 0 }: LeaseOptions): Promise<Lease> {
    const until = Date.now() + waitMs;
    const body = { owner, lease_id: newId(), ttl_ms: ttlMs };
    for (;;) {
      try {
        const lease = new Lease(chat, await chat.sendLease<models.Lease>("POST", undefined, body), ttlMs);
        void lease.#renewAgainAndAgain();
        return lease;
      } catch (error) {
        if (chat.signal?.aborted === true) Lease.#giveBack(chat, body);
        if (!(error instanceof Busy) || Date.now() >= until) throw error;
        await sleep(Math.min(500, ttlMs / 4), chat.signal);
      }
    }
  }

  /** Releases a lease that the service may have given to a request that was ended: the same request again has its token. */
  static #giveBack(chat: Chat, body: models.NewLease): void {
    const unended = chat.with({ signal: undefined });
    unended
      .sendLease<models.Lease>("POST", undefined, body)
      .then(({ fencing_token }) => unended.sendLease("DELETE", fencing_token))
      // It expires.
      .catch(() => undefined);
  }

  /** Is aborted, with a `Fenced` as its reason, when the lease is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Runs a function, and releases the lease at its end. Ends with `Fenced` if the lease is lost meanwhile. */
  async during<T>(run: (held: Chat, lease: Lease) => Promise<T>): Promise<T> {
    try {
      const result = await run(this.chat, this);
      this.signal.throwIfAborted();
      return result;
    } catch (error) {
      // What the signal stops often has an error of its own for that.
      if (error instanceof Error && error.name === "AbortError") this.signal.throwIfAborted();
      throw error;
    } finally {
      // A lease that cannot be released expires: what the function did, or threw, counts.
      await this.release().catch(() => undefined);
    }
  }

  /** Renews the lease; returns whether it is still held. */
  async renew(): Promise<boolean> {
    try {
      await this.#unleased.sendLease("PUT", this.fencingToken, { ttl_ms: this.#ttlMs });
    } catch (error) {
      // While the service cannot be reached, the lease is kept: a worker that takes it over fences this one.
      if (error instanceof Conflict || error instanceof NotFound) this.#lose(error);
    }
    return !this.signal.aborted;
  }

  /** Releases the lease, and stops renewing it. After an error it may be called again. */
  async release(): Promise<void> {
    this.#released.abort();
    // It was over already if it was lost.
    if (this.signal.aborted) return;
    this.#releasing ??= this.#sendRelease();
    await this.#releasing;
  }

  async #sendRelease(): Promise<void> {
    try {
      // What ended the work does not keep the lease.
      await this.#unleased.with({ signal: undefined }).sendLease("DELETE", this.fencingToken);
    } catch (error) {
      // The next call tries again.
      this.#releasing = undefined;
      throw error;
    }
  }

  async #renewAgainAndAgain(): Promise<void> {
    const ends = anyOf(this.#released.signal, this.signal, this.#unleased.signal);
    try {
      while (!ends.aborted) {
        await sleep(this.#ttlMs / 3, ends);
        await this.renew();
      }
    } catch {
      // One of the signals ended it.
    }
  }

  #lose(error: Conflict | NotFound): void {
    const { message, status, problem } = error;
    const options = { ...(status === undefined ? {} : { status }), problem, cause: error };
    this.#lost.abort(error instanceof Fenced ? error : new Fenced(message, options));
  }
}
