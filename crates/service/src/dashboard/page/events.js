// Server-sent events, read with `fetch`: an `EventSource` could not send the token.

import { parseExact, pieces } from "./api.js";

/** A connection that is silent for longer is taken for dead: comments come more often. */
const SILENCE = 60_000;
const LONGEST_PAUSE = 30_000;

/**
 * Hands on the events at an address, in batches of `{name, data}`, until `signal` says stop.
 *
 * After a break it goes on behind the last event, however long that takes. While nobody looks at the
 * tab there is no connection: a browser has few of them for all its tabs. `connected` is told whether
 * there is one, and why not when the service refuses. Returns a function that tries again now.
 */
export function listen(address, { signal, received, connected }) {
  let lastId = null;
  let retry = null;
  let failures = 0;
  let hangUp = () => {};
  let goOn = () => {};

  async function run() {
    while (!signal.aborted) {
      if (document.hidden) await pause(null);
      else if (await connect()) await pause(retry ?? jittered(failures));
      else return;
    }
  }

  /** Stays connected as long as can be; tells whether to try again. */
  async function connect() {
    const connection = new AbortController();
    hangUp = () => connection.abort();
    let silence = setTimeout(hangUp, SILENCE);
    const events = new Events();
    let refusal = null;
    try {
      const headers = { accept: "text/event-stream" };
      if (lastId !== null) headers["last-event-id"] = lastId;
      const either = AbortSignal.any([signal, connection.signal]);
      for await (const piece of pieces(address, headers, either)) {
        clearTimeout(silence);
        silence = setTimeout(hangUp, SILENCE);
        failures = 0;
        connected(true);
        const batch = events.take(piece);
        lastId = batch.findLast((event) => event.id !== null)?.id ?? lastId;
        if (batch.length > 0) received(batch);
      }
    } catch (error) {
      if (signal.aborted) return false;
      failures += 1;
      const isBroken = connection.signal.aborted || error.status === 0;
      if (!isBroken) refusal = error;
    } finally {
      clearTimeout(silence);
      connection.abort();
      retry = events.retry;
    }
    if (signal.aborted) return false;
    connected(false, refusal);
    return !refusal?.wantsToken;
  }

  const pause = (milliseconds) =>
    new Promise((resolve) => {
      goOn = resolve;
      if (milliseconds !== null) setTimeout(resolve, milliseconds);
    });

  const look = () => (document.hidden ? hangUp() : goOn());
  document.addEventListener("visibilitychange", look, { signal });
  signal.addEventListener("abort", () => goOn());
  run();
  return () => goOn();
}

/** Longer after each failure, and not for all readers alike. */
function jittered(failures) {
  const longest = Math.min(LONGEST_PAUSE, 500 * 2 ** failures);
  return longest * (0.5 + Math.random() / 2);
}

/** Makes events of the text of a stream, which comes in pieces. */
class Events {
  /** When to come back, in milliseconds, if the service has said so. */
  retry = null;
  #begun = "";
  #name = "";
  #id = null;
  #data = [];

  take(piece) {
    const lines = piece.split("\n");
    lines[0] = this.#begun + lines[0];
    this.#begun = lines.pop();
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line) {
    if (line === "") return this.#end();
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id") this.#id = value;
    else if (field === "retry") this.retry = Number(value);
    return [];
  }

  #end() {
    const [name, id, data] = [this.#name, this.#id, this.#data];
    [this.#name, this.#id, this.#data] = ["", null, []];
    return data.length > 0 ? [{ name, id, data: parseExact(data.join("\n")) }] : [];
  }
}
