import type { Chat } from "./chat.js";
import { anyOf, sleep } from "./clock.js";
import { Busy, Conflict, Denied, Fenced, NotFound, type RepriseError } from "./errors.js";
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
  /** Ends the renewals. */
  readonly #ends: AbortSignal;
  /** Why the last renewal failed. */
  #fault: unknown;
  #releasing: Promise<void> | undefined;
  #expiry: ReturnType<typeof setTimeout> | undefined;
  #expiresAt = 0;

  private constructor(chat: Chat, lease: models.Lease, ttlMs: number, sentAt: number) {
    this.fencingToken = lease.fencing_token;
    this.chat = chat.with({ fencingToken: lease.fencing_token, signal: anyOf(chat.signal, this.signal) });
    this.#unleased = chat;
    this.#ends = anyOf(this.#released.signal, this.signal, chat.signal);
    this.#ttlMs = ttlMs;
    this.#expireAfter(sentAt);
  }

  /** @internal */
  static async acquire(chat: Chat, owner: string, { ttlMs = 30_000, waitMs = 0 }: LeaseOptions): Promise<Lease> {
    const until = Date.now() + waitMs;
    const body = { owner, lease_id: newId(), ttl_ms: ttlMs };
    let sentAt = 0;
    const onAttempt = () => {
      sentAt = Date.now();
    };
    for (;;) {
      try {
        const acquired = await chat.sendLease<models.Lease>("POST", undefined, { body, onAttempt });
        const lease = new Lease(chat, acquired, ttlMs, sentAt);
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
      .sendLease<models.Lease>("POST", undefined, { body })
      .then(({ fencing_token }) => unended.sendLease("DELETE", fencing_token))
      // It expires.
      .catch(() => undefined);
  }

  /**
   * Is aborted, with a `Fenced` as its reason, when the lease is lost: another worker has it, the service refuses the token of the
   * caller, or no renewal was confirmed for the whole time of the lease.
   */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Runs a function, and releases the lease at its end. Ends with `Fenced` if the lease is lost meanwhile. */
  async during<T>(run: (held: Chat, lease: Lease) => Promise<T>): Promise<T> {
    try {
      const result = await run(this.chat, this);
      // If the process stood still, its timer has not noticed that another worker may have had the lease.
      if (Date.now() > this.#expiresAt) this.#expire();
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
    let sentAt = 0;
    const onAttempt = () => {
      sentAt = Date.now();
    };
    const unended = this.#unleased.with({ signal: this.#ends });
    try {
      await unended.sendLease("PUT", this.fencingToken, { body: { ttl_ms: this.#ttlMs }, onAttempt });
      this.#fault = undefined;
      if (!this.#ends.aborted) this.#expireAfter(sentAt);
    } catch (error) {
      if (error instanceof Conflict || error instanceof NotFound) this.#lose(error, error.message);
      else if (error instanceof Denied) this.#lose(error, `the lease can no longer be renewed: ${error.message}`);
      // While the service cannot be reached, the lease is kept until it expires.
      else this.#fault = error;
    }
    return !this.signal.aborted;
  }

  /** Releases the lease, and stops renewing it. After an error it may be called again. */
  async release(): Promise<void> {
    this.#released.abort();
    clearTimeout(this.#expiry);
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
    try {
      while (!this.#ends.aborted) {
        // After a fault there is less time left.
        await sleep(this.#ttlMs / (this.#fault === undefined ? 3 : 10), this.#ends);
        await this.renew();
      }
    } catch {
      // One of the signals ended it.
    }
  }

  /** Counts the time of the lease from when a request was sent that the service has granted: it cannot have begun before. */
  #expireAfter(sentAt: number): void {
    clearTimeout(this.#expiry);
    this.#expiresAt = sentAt + this.#ttlMs;
    const expire = () => {
      this.#expire();
    };
    this.#expiry = setTimeout(expire, this.#expiresAt - Date.now());
  }

  #expire(): void {
    const detail = `the lease was not renewed for ${this.#ttlMs} ms, so that another worker may hold it: stop the work`;
    this.#lost.abort(new Fenced(detail, { cause: this.#fault }));
  }

  #lose(error: RepriseError, detail: string): void {
    clearTimeout(this.#expiry);
    const { status, problem } = error;
    const options = { ...(status === undefined ? {} : { status }), problem, cause: error };
    this.#lost.abort(error instanceof Fenced ? error : new Fenced(detail, options));
  }
}
