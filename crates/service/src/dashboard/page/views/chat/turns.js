// The turns of a chat with their steps: why a turn failed, and what happens next.

import { getExact, pages, path, query } from "../../api.js";
import { h } from "../../dom.js";
import { count, duration, instant, many, moment, money } from "../../format.js";
import { poll } from "../../poll.js";
import { toChat } from "../../routes.js";
import { stepCard } from "./step.js";
import { planPanel } from "./plan.js";
import { timeline } from "./timeline.js";
import { turnsOf } from "./turn_model.js";

const MESSAGES = 100;
const MAX_TITLE = 200;

/** The panel of turns. `log` has the calls of the chat; `changed` is called when `element` has changed. */
export function turns({ appId, chatId }, screen, { signal, log, changed }) {
  const base = path`api/chats/${appId}/${chatId}`;
  let wanted = 1;
  /** The key of the turn that is shown, "" for the newest; null while the panel is hidden. */
  let open = null;
  let session = null;
  let data = null;
  const refresh = poll(load, { every: null, signal, failed: (problem) => screen.fail(problem) });

  async function load() {
    // Only while the panel is shown.
    if (open === null) return;
    const [messages, runs, asked, points, plan] = await Promise.all([
      newest(),
      pages(query(`${base}/tool-runs`, { limit: 100 }), "data", wanted, signal),
      pages(query(`${base}/input-requests`, { limit: 100 }), "data", wanted, signal),
      pages(query(`${base}/resume-points`, { limit: 100 }), "data", wanted, signal),
      getExact(query(`${base}/resume`, { dialect: "openai", newest: 1 }), signal),
    ]);
    if (log.usage === null) await log.refresh();
    const named = new Set(messages.items.map((it) => it.request_id));
    // Those that are older than the messages would be turns without messages.
    const oldest = messages.hasMore ? Date.parse(messages.items[0]?.created_at) : -Infinity;
    const since = (field) => (it) => Date.parse(it[field]) >= oldest;
    data = {
      plan,
      hasMore: messages.hasMore,
      messages: messages.items,
      runs: runs.items.filter(since("started_at")),
      questions: asked.items.filter(since("created_at")),
      points: points.items.filter((it) => named.has(it.request_id) || since("created_at")(it)),
      oldest,
    };
    changed();
  }

  /** Reads the newest messages, and as many pages before them as are wanted; a linked turn may be older. */
  async function newest() {
    let page = await getExact(query(`${base}/messages`, { newest: MESSAGES }), signal);
    let items = page.data;
    for (let read = 1; items[0]?.sequence > 0; read += 1) {
      const isLinked = open === "" || items.some((it) => holds(it, open));
      if (read >= wanted && (isLinked || read >= 50)) break;
      const before = { newest: MESSAGES, before: items[0].sequence };
      page = await getExact(query(`${base}/messages`, before), signal);
      items = [...page.data, ...items];
    }
    return { items, hasMore: items[0]?.sequence > 0 };
  }

  function element(chat) {
    session = chat;
    if (!data) return h("p", { class: "waiting", "data-key": "turns" }, "Loading…");
    const calls = log.newest().filter((it) => Date.parse(it.called_at) >= data.oldest);
    const all = turnsOf({ ...data, calls, lastTurn: session.last_turn });
    const shown = all.find(({ key }) => key === open) ?? (open === "" ? all.at(-1) : null);
    return h(
      "div",
      { class: "turns", "data-key": "turns" },
      planPanel(data.plan, session, { appId, chatId }),
      open && !shown && h("p", { class: "dim" }, "This chat has no such turn."),
      h(
        "section",
        { class: "panel", "data-key": "turn-list" },
        h("h2", {}, "Turns"),
        all.length === 0 && h("p", { class: "dim" }, "This chat has no turns yet."),
        h(
          "ol",
          { class: "turn-list" },
          all.toReversed().map((it) => turnItem(it, it === shown)),
        ),
        data.hasMore &&
          h("button", { type: "button", class: "more", onclick: earlier }, "Earlier turns"),
      ),
    );
  }

  function earlier() {
    wanted += 1;
    refresh();
  }

  function turnItem(turn, isShown) {
    const address = toChat(appId, chatId, { view: "turns", turn: turn.key });
    return h(
      "li",
      { class: `turn ${turn.outcome ?? ""}`, "data-key": turn.key, id: isShown && "turn" },
      h(
        "div",
        { class: "turn-head" },
        outcomeMark(turn.outcome),
        h(
          "a",
          {
            href: address,
            class: "name",
            "aria-expanded": String(isShown),
            dir: "auto",
            title: turn.title.slice(0, MAX_TITLE),
          },
          turn.title.slice(0, MAX_TITLE),
        ),
        h("span", { class: "turn-facts" }, facts(turn)),
      ),
      isShown && body(turn),
    );
  }

  function body(turn) {
    const plan =
      turn.requestId && turn.requestId === session.last_turn?.request_id ? data.plan : null;
    const first = turn.messages[0]?.sequence;
    return h(
      "div",
      { class: "turn-body" },
      failedFirst(turn.points).map((point) => stepCard(point, turn.points, plan)),
      turn.outcome === "failed" &&
        turn.points.length === 0 &&
        h("p", { class: "dim" }, "The turn failed, and no unfinished step of it is stored."),
      timeline(turn, { appId, chatId }),
      log.areHidden &&
        h("p", { class: "dim" }, "Calls are shown only to those who manage this chat."),
      h(
        "p",
        { class: "turn-links" },
        first !== undefined &&
          h("a", { href: toChat(appId, chatId, { message: first }) }, `Messages from #${first}`),
        turn.requestId && [h("span", { class: "dim" }, "Turn "), h("code", {}, turn.requestId)],
      ),
    );
  }

  return {
    element,
    refresh,
    /** Shows the panel with the turn of the address, or with the newest; null hides it. */
    open(parameters) {
      open = parameters && (parameters.turn ?? "");
      if (open !== null) refresh();
    },
  };
}

const failedFirst = (points) =>
  points.toSorted(
    (a, b) => (b.status === "failed") - (a.status === "failed") || a.sequence - b.sequence,
  );

const holds = (message, key) => message.request_id === key || `@${message.sequence}` === key;

const OUTCOMES = { completed: "completed", failed: "failed", interrupted: "paused" };

function outcomeMark(outcome) {
  if (!outcome) return h("span", { class: "status", title: "The outcome is not stored" }, "–");
  return h("span", { class: `status ${OUTCOMES[outcome] ?? ""}` }, outcome);
}

function facts(turn) {
  const spent = turn.end - turn.start;
  return [
    turn.calls > 0 && h("span", {}, many(turn.calls, "call")),
    turn.tools > 0 && h("span", {}, many(turn.tools, "tool")),
    turn.failedTools > 0 && h("span", { class: "bad" }, `${count(turn.failedTools)} failed`),
    turn.tokens > 0 && h("span", {}, many(turn.tokens, "token")),
    turn.cost > 0 && h("span", {}, money(turn.cost)),
    spent > 0 && h("span", {}, duration(spent)),
    Number.isFinite(turn.start) &&
      h(
        "time",
        { datetime: new Date(turn.start).toISOString(), title: moment(turn.start) },
        instant(turn.start),
      ),
  ];
}
