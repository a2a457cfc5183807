// Server-sent events, read with `fetch`: an `EventSource` could not send the token.

import { parseExact, pieces } from "./api.js";

/** A connection without data for this long is considered dead: the service sends comments more often. */
const MAX_SILENCE = 60_000;
const MAX_PAUSE = 30_000;

/**
 * Passes the events at an address to `received`, in batches of `{name, data}`, until `signal` aborts.
 *
 * After a failure it reconnects, and continues after the last event; `received` returns false if an event was left
 * out, so that it must. While the tab is hidden there is no connection, because a browser allows only a few for all
 * of its tabs. `connected` is called with whether there is a connection, and with the problem if the service refuses
 * it. Returns a function that retries now.
 */
export function listen(address, { signal, received, connected }) {
  let lastId = null;
  let retry = null;
  let failures = 0;
  let gaps = 0;
  let disconnect = () => {};
  let resume = () => {};

  async function run() {
    while (!signal.aborted) {
      if (document.hidden) await pause(null);
      else if (await connect()) await pause(retry ?? jittered(failures));
      else return;
    }
  }

  /** Connects and reads until the connection ends; returns whether to retry. */
  async function connect() {
    const connection = new AbortController();
    disconnect = () => connection.abort();
    let silence = setTimeout(disconnect, MAX_SILENCE);
    const events = new Events();
    let refusal = null;
    let isWhole = true;
    try {
      const headers = { accept: "text/event-stream" };
      if (lastId !== null) headers["last-event-id"] = lastId;
      const either = AbortSignal.any([signal, connection.signal]);
      for await (const piece of pieces(address, headers, either)) {
        clearTimeout(silence);
        silence = setTimeout(disconnect, MAX_SILENCE);
        failures = 0;
        connected(true);
        const batch = events.take(piece);
        lastId = batch.findLast((event) => event.id !== null)?.id ?? lastId;
        isWhole = batch.length === 0 || received(batch) !== false;
        if (!isWhole) break;
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
    gaps = isWhole ? 0 : gaps + 1;
    if (!isWhole) [retry, failures] = [null, gaps];
    if (signal.aborted) return false;
    connected(false, refusal);
    return !refusal?.wantsToken;
  }

  const pause = (milliseconds) =>
    new Promise((resolve) => {
      resume = resolve;
      if (milliseconds !== null) setTimeout(resolve, milliseconds);
    });

  const visibilityChanged = () => (document.hidden ? disconnect() : resume());
  document.addEventListener("visibilitychange", visibilityChanged, { signal });
  signal.addEventListener("abort", () => resume());
  run();
  return () => resume();
}

/** Returns a random pause that grows with each failure, so that clients do not reconnect at once. */
function jittered(failures) {
  const longest = Math.min(MAX_PAUSE, 500 * 2 ** failures);
  return longest * (0.5 + Math.random() / 2);
}

/** Parses the text of an event stream, which arrives in pieces. */
class Events {
  /** The reconnection time in milliseconds, if the service has sent one. */
  retry = null;
  #partialLine = "";
  #name = "";
  #id = null;
  #data = [];

  take(piece) {
    const lines = piece.split("\n");
    lines[0] = this.#partialLine + lines[0];
    this.#partialLine = lines.pop();
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
