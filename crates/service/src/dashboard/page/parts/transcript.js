// The messages of a chat, the newest first to be read and the oldest on request. They are added to
// the page as they come and left alone after that: a chat may have a hundred thousand.

import { h } from "../dom.js";
import { follow, newest } from "../messages.js";
import { announce } from "../screen.js";
import { message } from "./message.js";

/** Keeps the messages of a chat up to date once it is started. */
export function transcript(chat, screen, signal) {
  const list = h("ol", { class: "messages" });
  const earlier = h("button", { type: "button", class: "more", hidden: true }, "Earlier messages");
  const empty = h("p", { class: "dim", hidden: true }, "Nothing has been said yet.");
  const toEnd = h("button", { type: "button", class: "to-end", hidden: true });
  const heading = h("h2", {}, "Messages");
  const inner = [heading, earlier, empty, list, toEnd];
  let started = false;
  let unseen = 0;

  const element = () => {
    // Only the first of them gets into the page; after that it is kept as it is.
    const place = h("section", { class: "panel said", "data-key": "messages", "data-kept": true });
    if (!list.isConnected) place.append(...inner);
    return place;
  };

  async function start() {
    if (started) return;
    started = true;
    try {
      const first = await newest(chat, null, signal);
      show(first, (items) => list.append(...items));
      empty.hidden = first.length > 0;
      follow(chat, first.at(-1)?.sequence ?? -1, { signal, received, failed: fail });
    } catch (problem) {
      // It is tried again after the next time the chat itself could be read.
      started = false;
      fail(problem);
    }
  }

  function received(messages) {
    if (messages.length === 0 || signal.aborted) return;
    const atEnd = isAtEnd();
    show(messages, (items) => list.append(...items));
    empty.hidden = true;
    announce(`${messages.length} new ${messages.length === 1 ? "message" : "messages"}`);
    if (atEnd) return list.lastElementChild.scrollIntoView({ block: "end" });
    unseen += messages.length;
    toEnd.textContent = `↓ ${unseen} new`;
    toEnd.hidden = false;
  }

  function show(messages, place) {
    place(messages.map((it) => message(it)));
    const first = Number(list.firstElementChild?.dataset.sequence ?? 0);
    earlier.hidden = first === 0;
  }

  function fail(problem) {
    if (!signal.aborted) screen.fail(problem);
  }

  const isAtEnd = () => list.getBoundingClientRect().bottom <= innerHeight + 80;

  toEnd.onclick = () => {
    const last = list.lastElementChild;
    last.scrollIntoView({ block: "end" });
    last.focus({ preventScroll: true });
  };
  earlier.onclick = async () => {
    const top = list.firstElementChild;
    try {
      const before = await newest(chat, top.dataset.sequence, signal);
      show(before, (items) => list.prepend(...items));
      top.previousElementSibling?.focus({ preventScroll: true });
    } catch (problem) {
      fail(problem);
    }
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
