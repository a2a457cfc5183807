// The messages of a chat that the page holds: the newest, and those that the user has scrolled to.

import { range } from "../../messages.js";
import { results, toolCalls, toolLinks } from "../tool_calls.js";

/** How many messages are read at once, and how many are kept. */
const PAGE = 100;
const MAX_HELD = 2_000;

/** `renew` gets the sequence of each message whose calls or results were read with other messages. */
export function heldMessages(chat, { signal, renew }) {
  const held = new Map();
  /** The edits since the page was opened: what is read later may have been sent before them. */
  const edits = new Map();
  const loading = new Map();
  const links = toolLinks();

  function keep(messages) {
    for (const it of messages) {
      const current = edits.get(it.sequence) ?? it;
      held.delete(it.sequence);
      held.set(it.sequence, current);
      links.add(current);
    }
    const old = held.keys();
    while (held.size > MAX_HELD) held.delete(old.next().value);
  }

  /** Returns the messages of a range, which is within one page. */
  async function load(first, end) {
    const wanted = Array.from({ length: end - first }, (_, index) => first + index);
    if (!wanted.every((sequence) => held.has(sequence))) await loadPage(Math.floor(first / PAGE));
    return wanted.map((sequence) => held.get(sequence)).filter(Boolean);
  }

  async function loadPage(page) {
    if (!loading.has(page)) {
      const work = range(chat, page * PAGE, (page + 1) * PAGE, signal).then((messages) => {
        keep(messages);
        joinTools(messages);
      });
      loading.set(
        page,
        work.finally(() => loading.delete(page)),
      );
    }
    await loading.get(page);
  }

  /** Renews messages of other pages whose calls or results are among these. */
  function joinTools(messages) {
    const first = messages[0]?.sequence;
    const others = messages.flatMap((it) => [
      ...results(it).map(({ id }) => links.caller(id, it.sequence)?.sequence),
      ...toolCalls(it).map(({ id }) => links.result(id, it.sequence)?.sequence),
    ]);
    const isOutside = (sequence) => sequence < first || sequence > messages.at(-1).sequence;
    others.filter(isOutside).forEach(renew);
  }

  function replace(changed) {
    edits.set(changed.sequence, changed);
    if (held.has(changed.sequence)) held.set(changed.sequence, changed);
    links.add(changed);
  }

  return { keep, load, replace, links, get: (sequence) => held.get(sequence) };
}
