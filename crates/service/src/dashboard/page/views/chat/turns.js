// The turns of a chat with their steps: why a turn failed, and what happens next.

import { getExact, newestFirst, path, query } from "../../api.js";
import { h } from "../../dom.js";
import { count, duration, instant, many, moment, money } from "../../format.js";
import { poll } from "../../poll.js";
import { toChat } from "../../routes.js";
import { stepCard } from "./step.js";
import { planPanel } from "./plan.js";
import { timeline } from "./timeline.js";
import { turnsOf } from "./turn_model.js";

const MESSAGES = 100;
/** The pages of calls, and of each other list, that are read for the newest messages. */
const MAX_PAGES = 50;
const MAX_TITLE = 200;

/** The panel of turns. `log` has the calls of the chat; `changed` is called when `element` has changed. */
export function turns({ appId, chatId }, screen, { signal, log, changed }) {
  const base = path`api/chats/${appId}/${chatId}`;
  let wanted = 1;
  /** The key of the turn that is shown, "" for the newest; null while the panel is hidden. */
  let open = null;
  let session = null;
  let data = null;
  const listed = (name, keyOf, time) =>
    newestFirst(`${base}/${name}`, { keyOf, timeOf: (it) => Date.parse(it[time]), signal });
  const runs = listed("tool-runs", (run) => run.run_id, "started_at");
  const refresh = poll(load, { every: null, signal, failed: (problem) => screen.fail(problem) });

  async function load() {
    // Only while the panel is shown.
    if (open === null) return;
    // These change, so that they are read again.
    const asked = listed("input-requests", ({ request_id: id }) => id, "created_at");
    const points = listed("resume-points", (it) => `${it.request_id} ${it.sequence}`, "created_at");
    const lists = [runs, asked, points];
    const [messages, plan] = await Promise.all([
      newest(),
      getExact(query(`${base}/resume`, { dialect: "openai", newest: 1 }), signal),
      ...lists.map((list) => list.refresh()),
    ]);
    const oldest = messages.hasMore ? Date.parse(messages.items[0].created_at) : -Infinity;
    const mostPages = MAX_PAGES * wanted;
    await Promise.all([log, ...lists].map((list) => list.readBack(oldest, mostPages)));
    const named = new Set(messages.items.map((it) => it.request_id));
    // Those that are older than the messages would be turns without messages.
    const isSince = (field) => (it) => Date.parse(it[field]) >= oldest;
    data = {
      plan,
      hasMore: messages.hasMore,
      messages: messages.items,
      runs: runs.newest().filter(isSince("started_at")),
      questions: asked.newest().filter(isSince("created_at")),
      points: points.newest().filter((it) => named.has(it.request_id) || isSince("created_at")(it)),
      oldest,
      since: Math.max(oldest, ...lists.map((list) => list.since())),
    };
    changed();
  }

  /** Reads the newest messages, and as many pages before them as are wanted; a linked turn may be older. */
  async function newest() {
    let page = await getExact(query(`${base}/messages`, { newest: MESSAGES }), signal);
    let items = page.data;
    for (let read = 1; items[0]?.sequence > 0; read += 1) {
      // The first of these messages may not be the first of its turn.
      const isLinked =
        open === "" || (!holds(items[0], open) && items.some((it) => holds(it, open)));
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
    const since = Math.max(data.since, log.since());
    const all = knownTurns(since);
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
        Number.isFinite(since) && since > data.oldest && h("p", { class: "dim" }, cutNote(since)),
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

  /** The turns that were read from their beginnings, as far as there are such turns. */
  function knownTurns(since) {
    const calls = log.newest().filter((it) => Date.parse(it.called_at) >= data.oldest);
    const all = turnsOf({ ...data, calls, since, lastTurn: session.last_turn });
    const isCut = ({ key, messages }) => messages[0] === data.messages[0] && key !== open;
    const known = data.hasMore ? all.filter((it) => !isCut(it)) : all;
    return known.length > 0 ? known : all;
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

const cutNote = (since) =>
  `Only calls and tool runs after ${instant(since)} are counted: earlier turns had at least these.`;

function facts(turn) {
  const spent = turn.end - turn.start;
  return [
    turn.isPartial && h("span", {}, turn.items.length > 0 ? "at least" : "not counted"),
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
