// One chat. Its address says which part of it is shown: `view` is "turns", "context" or "forks", and without it
// the messages; `message`, `turn`, `from`, `to`, `at` and `compare` name what is shown there.

import { Problem, get, path, query } from "../api.js";
import { h } from "../dom.js";
import { poll } from "../poll.js";
import { actions } from "../parts/actions.js";
import { callLog } from "../parts/calls.js";
import { presentLine } from "../parts/present.js";
import { questions } from "../parts/questions.js";
import { transcript } from "../parts/transcript.js";
import { toApp, toApps, toWorkflow } from "../routes.js";
import { beside, jumps } from "./chat/beside.js";
import { failureNotice, lastFailure } from "./chat/failure.js";
import { facts, numbers, tabs } from "./chat/head.js";

/** The parts besides the messages. Each is loaded when it is first shown, so that the messages do not wait for it. */
const PARTS = {
  turns: async () => (await import("./chat/turns.js")).turns,
  context: async () => (await import("./chat/context.js")).contextHistory,
  forks: async () => (await import("./chat/forks.js")).forks,
};

/** The pause before a part that could not be loaded is asked for again, in milliseconds. */
const PART_PAUSE = 3_000;

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
    const messages = transcript({ appId, chatId }, screen, { signal, happened, log, changed });
    const asked = questions({ appId, chatId }, { signal, changed });
    /** The parts that were shown, by name. */
    const parts = {};
    const todo = actions({ appId, chatId }, { signal, changed, done: () => refresh() });
    const details = beside(base, screen, { signal, log, changed });
    let people = { present: [], count: 0 };
    let workflow = null;
    let failure = null;
    let soon = null;
    let later = null;
    let isPartLost = false;
    let place = { part: null, given: {}, linked: null };
    // Loaded on demand only: every change is announced by an event.
    const refresh = poll(load, { every: null, signal, failed: (problem) => screen.fail(problem) });
    screen.onRetry(refresh);
    // Relative times change with the clock.
    const clock = setInterval(changed, 10_000);
    signal.addEventListener("abort", () => clearInterval(clock));
    moved({ parameters });

    /** Shows the part that the address names. */
    function moved({ parameters: given }) {
      const part = Object.hasOwn(PARTS, given.view ?? "") ? given.view : "messages";
      const before = place.part;
      const linked = /^\d+$/.test(given.message ?? "") ? Number(given.message) : null;
      place = { part, given, linked };
      openParts();
      if (before === null) return;
      changed();
      if (before !== part && part === "messages") {
        messages.fit();
        messages.shownAgain();
      }
      showLinked();
    }

    /** Opens the part that the address names, and closes the others. */
    function openParts() {
      const { part, given } = place;
      for (const [name, shown] of Object.entries(parts)) shown.open(name === part ? given : null);
      if (part !== "messages" && !parts[part]) loadPart(part);
    }

    async function loadPart(part) {
      try {
        const create = await PARTS[part]();
        if (signal.aborted) return;
        parts[part] ??= create({ appId, chatId }, screen, { signal, log, changed });
        openParts();
        if (isPartLost) refresh();
        isPartLost = false;
      } catch {
        if (signal.aborted) return;
        isPartLost = true;
        const detail = "The service did not answer. The page keeps trying.";
        screen.fail(new Problem({ title: "Service unreachable", detail }));
        setTimeout(() => signal.aborted || place.part !== part || loadPart(part), PART_PAUSE);
      }
    }

    function showLinked() {
      if (place.linked !== null) messages.show(place.linked);
    }

    function happened(events) {
      asked.happened(events);
      details.happened(events);
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
        parts.turns?.refresh();
        parts.context?.refresh();
      }, 2_000);
    }

    async function load() {
      const session = await get(query(base, { permissions: true }), signal);
      log.areHidden = !session.permissions.includes("manage");
      if (session.permissions.includes("create")) messages.offerForks();
      // The messages do not wait for these.
      const reading = details.load();
      reading.catch(() => {});
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
      await reading;
      changed();
    }

    function render(session) {
      const isTalk = place.part === "messages";
      const cards = asked.element({ isAnswerable: session.permissions.includes("say") });
      return [
        facts(session),
        todo.element(session),
        numbers(session, log.areHidden ? null : (log.usage ?? {})),
        failureNotice(failure, session, { appId, chatId }, place.part === "turns"),
        tabs(place.part, { appId, chatId }, session),
        isTalk && jumps(),
        h(
          "div",
          { class: isTalk ? "chat" : "", "data-key": "chat", hidden: !isTalk && !cards },
          h(
            "div",
            { class: "talk", "data-key": "talk" },
            isTalk && presentLine(people),
            cards,
            // Kept in the page while another part is shown, with its scroll position.
            messages.element(isTalk),
          ),
          isTalk && h("div", { class: "beside", "data-key": "beside" }, details.element()),
        ),
        !isTalk &&
          h(
            "div",
            { class: "part", "data-key": `part ${place.part}` },
            place.part === "turns" && messages.broken(),
            parts[place.part]?.element(session) ?? h("p", { class: "waiting" }, "Loading…"),
          ),
      ];
    }

    return moved;
  },
};
