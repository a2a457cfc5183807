// The messages of a chat: the newest are shown first, all others when the user scrolls to them.

import { h } from "../dom.js";
import { follow, newest } from "../messages.js";
import { toChat } from "../routes.js";
import { announce } from "../screen.js";
import { brokenAnswer } from "./broken_answer.js";
import { feed } from "./feed.js";
import { message } from "./message.js";
import { streams } from "./stream.js";
import { results } from "./tool_calls.js";
import { heldMessages } from "./transcript/held.js";

/** The list is at least this high, in pixels: on small screens the page scrolls as well. */
const MIN_HEIGHT = 460;

/**
 * Keeps the messages of a chat up to date once it is started. `happened` gets the names and data of all
 * events of the chat; `log` has its calls; `changed` is called when the result of `broken` has changed: how the last
 * answer broke off.
 */
export function transcript(chat, screen, { signal, happened, log, changed }) {
  const { appId, chatId } = chat;
  const held = heldMessages(chat, { signal, renew });
  const empty = h("p", { class: "dim", hidden: true }, "This chat has no messages yet.");
  const missing = h("p", { class: "missing", role: "status", hidden: true });
  const toEnd = h("button", { type: "button", class: "to-end", hidden: true });
  const heading = h("h2", { tabindex: "-1" }, "Messages");
  const list = feed({
    label: "Messages",
    load: held.load,
    render: (it) => message(it, about),
    scrolled: seen,
    failed: (problem) => screen.fail(problem),
    signal,
  });
  const answers = h("div", {});
  const ending = h("div", {});
  list.tail.append(answers, ending);
  const unfinished = streams(answers, grown);
  const broken = brokenAnswer(chat, { signal, isLast, changed: endingChanged });
  const inner = [heading, missing, empty, list.box, toEnd];
  let count = 0;
  let started = null;
  // Asked for at once, beside what the rest of the view needs.
  let early = newest(chat, signal);
  early.catch(() => {});
  let reconnect = () => {};
  let unseen = 0;

  const about = {
    address: (sequence) => toChat(appId, chatId, { message: sequence }),
    turnAddress: (id) => toChat(appId, chatId, { view: "turns", turn: id }),
    call: (id) => log.find(id),
    result: held.links.result,
    caller: held.links.caller,
  };

  /** Makes each message offer a fork from it; called before the first start. */
  const offerForks = () => {
    about.forkAddress = (sequence) => toChat(appId, chatId, { view: "forks", at: sequence });
  };

  const element = (isShown) => {
    // Only the first element gets into the page; `data-kept` preserves it from then on.
    const panel = h("section", {
      class: "panel said",
      "data-key": "messages",
      "data-kept": true,
      hidden: !isShown,
    });
    if (!list.box.isConnected) panel.append(...inner);
    return panel;
  };

  /** Shows the newest messages. A second start means that the service was reached again. */
  function start() {
    if (started) reconnect();
    else
      started = begin().catch((problem) => {
        started = early = null;
        throw problem;
      });
    return started;
  }

  async function begin() {
    const first = await (early ?? newest(chat, signal));
    held.keep(first);
    count = (first.at(-1)?.sequence ?? -1) + 1;
    showOrHide();
    list.setCount(count);
    fit();
    screen.link("Connecting…");
    reconnect = follow(chat, count - 1, { signal, received, connected });
  }

  /** Something has changed after the last message. */
  function grown() {
    showOrHide();
    list.keepEnd();
  }

  /** Whether no message came after a stream. */
  function isLast({ last_sequence: end, written_at: at }) {
    if (end !== null) return end >= count;
    return count === 0 || Date.parse(held.get(count - 1)?.created_at) <= Date.parse(at);
  }

  /** Tells after the last message how the last answer broke off. */
  function endingChanged() {
    ending.replaceChildren(broken.element() ?? "");
    grown();
    changed();
  }

  /** Shows the list, or that there is nothing in it. */
  function showOrHide() {
    const isEmpty = count === 0 && !unfinished.isAny() && !broken.isAny();
    if (empty.hidden === !isEmpty && list.box.hidden === isEmpty) return;
    empty.hidden = !isEmpty;
    list.box.hidden = isEmpty;
    fit();
  }

  function received(events) {
    if (signal.aborted) return true;
    const named = (...names) => events.filter(({ name }) => names.includes(name));
    append(named("message").map(({ data }) => data));
    named("message-updated", "message-deleted").forEach(({ data }) => replace(data));
    const isWhole = unfinished.happened(events);
    broken.happened(events);
    happened(events);
    return isWhole;
  }

  function append(messages) {
    const fresh = messages.filter(({ sequence }) => sequence >= count);
    if (fresh.length === 0) return;
    held.keep(fresh);
    count = fresh.at(-1).sequence + 1;
    showOrHide();
    const wasAtEnd = list.isAtEnd();
    list.setCount(count);
    fresh.flatMap(results).forEach(({ id }) => renew(held.links.callerOf(id)));
    announce(`${fresh.length} new ${fresh.length === 1 ? "message" : "messages"}`);
    if (wasAtEnd) return;
    unseen += fresh.length;
    toEnd.textContent = `↓ ${unseen} new`;
    toEnd.hidden = false;
  }

  function replace(changed) {
    held.replace(changed);
    list.update(changed);
  }

  function renew(sequence) {
    const it = held.get(sequence);
    if (it) list.update(it);
  }

  /** Renders the messages again that those calls have produced. */
  function callsFound(ids) {
    for (const shown of list.box.querySelectorAll("[data-sequence]")) {
      const it = held.get(Number(shown.dataset.sequence));
      if (it && ids.has(it.produced_by_call_id)) list.update(it);
    }
  }

  function connected(is, problem) {
    // With a refused token there is no retry.
    const cut = problem?.wantsToken ? "Not updated" : "Reconnecting…";
    screen.link(is ? null : cut, problem);
  }

  function seen(isAtEnd) {
    if (!isAtEnd) return;
    unseen = 0;
    toEnd.hidden = true;
  }

  toEnd.onclick = async () => {
    list.toEnd();
    seen(true);
    list.box.focus({ preventScroll: true });
  };
  list.box.addEventListener("click", async (event) => {
    const link = event.target.closest("a.to-message");
    // Browsers offer no clipboard to pages from other machines over plain HTTP.
    if (!link || !navigator.clipboard) return;
    await navigator.clipboard.writeText(link.href).then(
      () => announce("The link to the message was copied"),
      () => {},
    );
  });

  /** Scrolls to the message that a link names. */
  async function show(sequence) {
    await started;
    const shown = await list.show(sequence);
    list.box.querySelector(".linked")?.classList.remove("linked");
    shown?.classList.add("linked");
    shown?.focus({ preventScroll: true });
    missing.textContent = `This chat has no message #${sequence}.`;
    missing.hidden = Boolean(shown);
    fit();
  }

  /** Restores the place in the list, which the browser forgets while it is hidden. */
  function shownAgain() {
    list.restore();
  }

  /** Makes the list end where the window ends. */
  function fit() {
    const top = list.box.getBoundingClientRect().top + scrollY;
    const room = `${Math.max(MIN_HEIGHT, innerHeight - top - 24)}px`;
    if (list.box.clientHeight === 0 || list.box.style.maxHeight === room) return;
    list.box.style.maxHeight = room;
    list.keepEnd();
  }
  addEventListener("resize", fit, { signal });

  const isStarted = () => started !== null;
  return {
    element,
    broken: broken.element,
    offerForks,
    start,
    isStarted,
    show,
    shownAgain,
    fit,
    callsFound,
  };
}
