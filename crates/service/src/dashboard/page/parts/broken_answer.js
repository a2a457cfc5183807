// How the last answer broke off, until the chat goes on: its stream is no message, and is kept for an hour only.

import { get, path } from "../api.js";
import { h } from "../dom.js";
import { instant, moment } from "../format.js";
import { name as shortened } from "./table.js";

const WORDS = { failed: "failed", cancelled: "was cancelled" };

/**
 * Keeps the stream of the last answer of a chat, if it broke off. `isLast(stream)` says whether nothing was stored
 * after it; `changed` is called when the result of `element` has changed.
 */
export function brokenAnswer({ appId, chatId }, { signal, isLast, changed }) {
  let last = null;
  /** Counts what happened, so that what was read before counts no more. */
  let changes = 0;

  function happened(events) {
    for (const { name, data } of events) {
      if (name === "stream-finished") set(data.state in WORDS ? data : null);
      else if (["message", "stream-started"].includes(name)) set(null);
    }
    if (events.some(({ name }) => name === "caught-up")) read();
  }

  /** Reads what has happened while there was no connection. */
  async function read() {
    const before = changes;
    try {
      const { streams } = await get(path`api/chats/${appId}/${chatId}/streams`, signal);
      const [newest] = streams;
      if (before !== changes || !newest) return;
      if (newest.state in WORDS && isLast(newest)) set(newest);
    } catch {
      // The messages are there without it; a failed connection is reported where they are read.
    }
  }

  function set(stream) {
    changes += 1;
    if (last === null && stream === null) return;
    last = stream;
    changed();
  }

  return { happened, isAny: () => last !== null, element: () => last && note(last) };
}

function note({ agent, state, error, last_sequence: stored, written_at: at }) {
  return h(
    // A feed has articles only.
    "article",
    {
      class: `notice ${state === "cancelled" ? "paused" : ""}`,
      "data-key": "broken",
      "aria-label": "Broken answer",
    },
    h(
      "p",
      { class: "notice-head" },
      h("b", {}, "The answer of "),
      shortened(agent ?? "the assistant", "inline-name"),
      h("b", {}, WORDS[state]),
      // Not how long ago: the note is not rendered again.
      h("time", { class: "dim", datetime: at, title: moment(at) }, instant(at)),
    ),
    error &&
      h(
        "pre",
        { class: "error", tabindex: "0", role: "region", "aria-label": "Error", dir: "auto" },
        error,
      ),
    stored === null && h("p", { class: "dim" }, "What it had said is not stored."),
  );
}
