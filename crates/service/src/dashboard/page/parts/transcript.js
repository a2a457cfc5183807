// The messages of a chat: the newest are loaded at once, older ones on request. A message is added to the page
// when it arrives, and not touched until it is edited, because a chat may have a hundred thousand of them.

import { h } from "../dom.js";
import { follow, newest } from "../messages.js";
import { announce } from "../screen.js";
import { message } from "./message.js";

/**
 * Keeps the messages of a chat up to date once it is started. `happened` gets the names and data of all
 * events of the chat.
 */
export function transcript(chat, screen, { signal, happened }) {
  const list = h("ol", { class: "messages" });
  const earlier = h("button", { type: "button", class: "more", hidden: true }, "Earlier messages");
  const empty = h("p", { class: "dim", hidden: true }, "This chat has no messages yet.");
  const toEnd = h("button", { type: "button", class: "to-end", hidden: true });
  const heading = h("h2", { tabindex: "-1" }, "Messages");
  const inner = [heading, earlier, empty, list, toEnd];
  let started = false;
  let reconnect = () => {};
  let unseen = 0;
  /** The messages edited while earlier messages are being loaded, by sequence. */
  let edited = null;

  const element = () => {
    // Only the first element gets into the page; `data-kept` preserves it from then on.
    const panel = h("section", { class: "panel said", "data-key": "messages", "data-kept": true });
    if (!list.isConnected) panel.append(...inner);
    return panel;
  };

  async function start() {
    // A second start means that the service was reached again.
    if (started) return reconnect();
    const first = await newest(chat, null, signal);
    started = true;
    show(first, (items) => list.append(...items));
    empty.hidden = first.length > 0;
    screen.link("Connecting…");
    const after = first.at(-1)?.sequence ?? -1;
    reconnect = follow(chat, after, { signal, received, connected });
  }

  function received(events) {
    if (signal.aborted) return;
    const named = (...names) => events.filter(({ name }) => names.includes(name));
    append(named("message").map(({ data }) => data));
    named("message-updated", "message-deleted").forEach(({ data }) => replace(data));
    happened(events);
  }

  function append(messages) {
    if (messages.length === 0) return;
    const atEnd = isAtEnd();
    show(messages, (items) => list.append(...items));
    empty.hidden = true;
    announce(`${messages.length} new ${messages.length === 1 ? "message" : "messages"}`);
    if (atEnd) return list.lastElementChild.scrollIntoView({ block: "end" });
    unseen += messages.length;
    toEnd.textContent = `↓ ${unseen} new`;
    toEnd.hidden = false;
  }

  function replace(changed) {
    edited?.set(changed.sequence, changed);
    const old = list.querySelector(`[data-sequence="${changed.sequence}"]`);
    if (!old) return;
    const hadFocus = old.contains(document.activeElement);
    const item = message(changed);
    old.replaceWith(item);
    if (hadFocus) item.focus({ preventScroll: true });
  }

  function show(messages, insert) {
    insert(messages.map((it) => message(it)));
    const first = Number(list.firstElementChild?.dataset.sequence ?? 0);
    earlier.hidden = first === 0;
  }

  function connected(is, problem) {
    // With a refused token there is no retry.
    const cut = problem?.wantsToken ? "Not updated" : "Reconnecting…";
    screen.link(is ? null : cut, problem);
  }

  const isAtEnd = () => list.getBoundingClientRect().bottom <= innerHeight + 80;

  toEnd.onclick = () => {
    const last = list.lastElementChild;
    last.scrollIntoView({ block: "end" });
    last.focus({ preventScroll: true });
  };
  earlier.onclick = async () => {
    if (edited) return;
    edited = new Map();
    try {
      const top = list.firstElementChild;
      const before = await newest(chat, top.dataset.sequence, signal);
      const current = before.map((it) => edited.get(it.sequence) ?? it);
      show(current, (items) => list.prepend(...items));
      // The element that was first may have been replaced meanwhile, so it is found by position.
      list.children[before.length - 1]?.focus({ preventScroll: true });
    } catch (problem) {
      if (!signal.aborted) screen.fail(problem);
    }
    edited = null;
  };
  addEventListener(
    "scroll",
    () => {
      if (!isAtEnd()) return;
      unseen = 0;
      toEnd.hidden = true;
    },
    { signal, passive: true },
  );

  return { element, start };
}
