// One chat. Its address says which part of it is shown: `view` is "turns", "context" or "forks", and without it
// the messages; `message`, `turn`, `from`, `to`, `at` and `compare` name what is shown there.

import { get, getExact, path } from "../api.js";
import { h } from "../dom.js";
import { count, duration, money, seconds } from "../format.js";
import { poll } from "../poll.js";
import { actions } from "../parts/actions.js";
import { callLog } from "../parts/calls.js";
import { marks } from "../parts/chat_list.js";
import { block, formatJson } from "../parts/json.js";
import { presentLine } from "../parts/present.js";
import { questions } from "../parts/questions.js";
import { figures, status, time } from "../parts/summary.js";
import { more, name, section, table } from "../parts/table.js";
import { transcript } from "../parts/transcript.js";
import { toApp, toApps, toChat, toWorkflow } from "../routes.js";
import { contextHistory } from "./chat/context.js";
import { forks } from "./chat/forks.js";
import { failureNotice, lastFailure, turns } from "./chat/turns.js";

/** JSON longer than this is truncated: a snapshot may have 8 MiB, which is too much to display. */
const MAX_SHOWN = 50_000;
/** The calls that are listed at once. */
const CALLS = 50;

const PARTS = { messages: "Messages", turns: "Turns", context: "Context", forks: "Forks" };

/** One chat: its messages live, why it failed, and its context, forks, artifact and calls. */
export const chat = {
  frame: ({ appId, chatId }) => ({
    title: chatId,
    crumbs: [
      ["Apps", toApps()],
      [appId, toApp(appId)],
    ],
  }),

  open(screen, { appId, chatId, parameters }, signal) {
    const base = path`api/chats/${appId}/${chatId}`;
    const changed = () => screen.renew();
    const log = callLog(base, { signal, found: (ids) => messages.callsFound(ids) });
    const messages = transcript({ appId, chatId }, screen, { signal, happened, log });
    const asked = questions({ appId, chatId }, { signal, changed });
    const parts = {
      turns: turns({ appId, chatId }, screen, { signal, log, changed }),
      context: contextHistory({ appId, chatId }, screen, { signal, changed }),
      forks: forks({ appId, chatId }, screen, { signal, changed }),
    };
    const todo = actions({ appId, chatId }, { signal, changed, done: () => refresh() });
    const context = { at: `${base}/context`, version: null, announced: 0, answer: null };
    const artifact = { at: `${base}/artifact`, version: null, announced: 0, answer: null };
    let people = { present: [], count: 0 };
    let wanted = CALLS;
    let workflow = null;
    let failure = null;
    let soon = null;
    let later = null;
    let place = { part: null, linked: null };
    // Loaded on demand only: every change is announced by an event.
    const refresh = poll(load, { every: null, signal, failed: (problem) => screen.fail(problem) });
    screen.onRetry(refresh);
    // Relative times change with the clock.
    const clock = setInterval(changed, 10_000);
    signal.addEventListener("abort", () => clearInterval(clock));
    moved({ parameters });

    /** Shows the part that the address names. */
    function moved({ parameters: given }) {
      const part = Object.hasOwn(parts, given.view ?? "") ? given.view : "messages";
      const before = place.part;
      place = { part, linked: /^\d+$/.test(given.message ?? "") ? Number(given.message) : null };
      parts.turns.open(part === "turns" ? (given.turn ?? "") : null);
      parts.context.open(part === "context" ? given : null);
      parts.forks.open(part === "forks" ? given : null);
      if (before === null) return;
      changed();
      if (before !== part && part === "messages") {
        messages.fit();
        messages.shownAgain();
      }
      showLinked();
    }

    function showLinked() {
      if (place.linked !== null) messages.show(place.linked);
    }

    function happened(events) {
      asked.happened(events);
      for (const { name, data } of events) {
        if (name === "context") context.announced = data.version;
        if (name === "artifact") artifact.announced = data.version;
        if (name === "caught-up") {
          context.announced = data.context_version;
          artifact.announced = data.artifact_version;
        }
      }
      const presence = events.findLast(({ name }) => name === "presence");
      if (presence) {
        people = presence.data;
        screen.renew();
      }
      if (events.every(({ name }) => name === "presence" || name.startsWith("stream-"))) return;
      // Loads once for all events within a short time.
      soon ??= setTimeout(() => {
        soon = null;
        refresh();
      }, 300);
      // These take several requests; what they show is mostly in the past.
      later ??= setTimeout(() => {
        later = null;
        parts.turns.refresh();
        parts.context.refresh();
      }, 2_000);
    }

    async function load() {
      const session = await get(base, signal);
      // The messages do not wait for these.
      const details = Promise.all([log.refresh(), readIfNew(context), readIfNew(artifact)]);
      details.catch(() => {});
      failure = await lastFailure(base, session, signal);
      // Set once, because it never changes, and new links would lose the focus.
      if (workflow === null) {
        workflow = session.workflow_name;
        screen.crumbs([
          ["Apps", toApps()],
          [appId, toApp(appId)],
          [workflow, toWorkflow(appId, workflow)],
        ]);
      }
      screen.show(() => render(session));
      messages.fit();
      const isFirst = !messages.isStarted();
      await messages.start();
      if (isFirst) showLinked();
      await details;
      changed();
    }

    function render(session) {
      const isTalk = place.part === "messages";
      const cards = asked.element();
      return [
        facts(session),
        // Known with the calls: they are shown to those who manage the chat.
        todo.element(session, { manages: log.usage !== null }),
        numbers(session, log.areHidden ? null : (log.usage ?? {})),
        failureNotice(failure, session, { appId, chatId }, place.part === "turns"),
        tabs(place.part, { appId, chatId }, session),
        isTalk && jumps(),
        h(
          "div",
          { class: isTalk ? "chat" : "", "data-key": "chat", hidden: !isTalk && cards === null },
          h(
            "div",
            { class: "talk", "data-key": "talk" },
            isTalk && presentLine(people),
            cards,
            // Kept in the page while another part is shown, with its scroll position.
            messages.element(isTalk),
          ),
          isTalk && h("div", { class: "beside", "data-key": "beside" }, beside()),
        ),
        !isTalk &&
          h(
            "div",
            { class: "part", "data-key": `part ${place.part}` },
            parts[place.part].element(session),
          ),
      ];
    }

    function beside() {
      const snapshot = context.answer?.context_snapshot;
      const last = artifact.answer?.last_artifact;
      const hidden = "Only those who manage this chat see its calls and what they cost.";
      const calls = log.newest();
      return [
        section(
          "Context",
          context.answer
            ? json(snapshot, "Context", "This chat has no context snapshot.")
            : loading(),
        ),
        section(
          "Artifact",
          artifactFacts(last),
          artifact.answer
            ? json(last?.payload, "Artifact", "This chat has no artifact.")
            : loading(),
        ),
        section(
          "Calls",
          log.areHidden && h("p", { class: "dim" }, hidden),
          !log.areHidden && (log.usage ? callTable(calls.slice(0, wanted)) : loading()),
          log.usage && (calls.length > wanted || log.hasMore()) && more("calls", moreCalls),
        ),
      ];
    }

    async function moreCalls() {
      wanted += CALLS;
      try {
        if (log.newest().length < wanted && log.hasMore()) await log.more();
        changed();
      } catch (problem) {
        if (!signal.aborted) screen.fail(problem);
      }
    }

    /** Reads the context or the artifact, which may be large, if its version is new. */
    async function readIfNew(it) {
      const version = it.announced;
      if (it.version === version) return;
      it.answer = await getExact(it.at, signal);
      it.version = version;
    }

    return moved;
  },
};

const loading = () => h("p", { class: "dim" }, "Loading…");

function tabs(current, { appId, chatId }, session) {
  const isBroken = session.last_turn && session.last_turn.outcome !== "completed";
  return h(
    "nav",
    { class: "tabs", "aria-label": "Parts of this chat", "data-key": "tabs" },
    Object.entries(PARTS).map(([part, title]) =>
      h(
        "a",
        {
          href: toChat(appId, chatId, part === "messages" ? {} : { view: part }),
          "aria-current": part === current && "page",
        },
        title,
        part === "turns" &&
          isBroken &&
          h(
            "span",
            { class: `dot ${session.last_turn.outcome}` },
            h("span", { class: "only-heard" }, ` (last turn ${session.last_turn.outcome})`),
          ),
      ),
    ),
  );
}

function numbers(session, usage) {
  const cost = usage && [
    ["Calls", count(usage.calls), `${duration(usage.duration_ms)} in all`],
    [
      "Tokens",
      count(usage.total_tokens),
      `${count(usage.prompt_tokens)} in, ${count(usage.completion_tokens)} out`,
    ],
    ["Cost", money(usage.cost_micros_usd)],
  ];
  return figures(
    ["Messages", count(session.last_sequence)],
    [
      "Duration",
      session.duration_sec ? seconds(session.duration_sec) : "–",
      hasEnded(session) ? null : "not ended",
    ],
    ...(cost ?? []),
  );
}

function hasEnded({ status: stands }) {
  return stands === "completed" || stands === "failed";
}

function facts(session) {
  const fact = (label, ...value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
  return h(
    "dl",
    { class: "facts", "data-key": "facts" },
    session.title && fact("Title", name(session.title)),
    fact(
      "Status",
      status(session.status),
      session.status_reason && [" ", name(session.status_reason, "reason")],
      marks(session),
    ),
    session.user_id && fact("User", name(session.user_id)),
    session.team_id && fact("Team", name(session.team_id)),
    fact("Visible to", session.visibility),
    fact("Started", time(session.created_at)),
    fact("Updated", time(session.last_updated_at)),
  );
}

/** Buttons for narrow screens, where the other sections are far below the messages. */
function jumps() {
  const jump = (title) =>
    h(
      "button",
      {
        type: "button",
        onclick: () => {
          const heading = [...document.querySelectorAll(".beside h2")].find(
            (it) => it.textContent === title,
          );
          heading.tabIndex = -1;
          heading.focus();
          heading.scrollIntoView();
        },
      },
      title,
    );
  return h(
    "div",
    { class: "jumps", role: "group", "aria-label": "Jump to" },
    ["Context", "Artifact", "Calls"].map(jump),
  );
}

function artifactFacts(artifact) {
  if (!artifact) return null;
  return h("p", { class: "dim" }, name(`${artifact.ui_tool_id} · ${artifact.display}`));
}

function json(value, label, otherwise) {
  const text = formatJson(value ?? {});
  if (text === "{}") return h("p", { class: "dim" }, otherwise);
  const rest = text.length - MAX_SHOWN;
  return [
    block(text.slice(0, MAX_SHOWN), { tabindex: "0", role: "region", "aria-label": label }),
    rest > 0 && h("p", { class: "dim" }, `${count(rest)} more characters are not shown.`),
  ];
}

function callTable(calls) {
  if (calls.length === 0) return h("p", { class: "dim" }, "No calls are recorded.");
  const who = (row) => [
    name(row.model ?? "unknown model"),
    name(row.agent ?? "unknown agent", "name under"),
  ];
  return table({
    caption: "Calls",
    rows: calls,
    key: (row) => row.call_id,
    columns: [
      { title: "Model", kind: "text", cell: who },
      { title: "Tokens", kind: "number", cell: (row) => count(row.total_tokens) },
      { title: "Time", kind: "number", cell: (row) => duration(row.duration_ms) },
      { title: "Cost", kind: "number", cell: (row) => money(row.cost_micros_usd) },
    ],
  });
}
