import { get, getExact, pages, path } from "../api.js";
import { h } from "../dom.js";
import { count, duration, money, seconds } from "../format.js";
import { poll } from "../poll.js";
import { block, formatJson } from "../parts/json.js";
import { presentLine } from "../parts/present.js";
import { questions } from "../parts/questions.js";
import { figures, status, time } from "../parts/summary.js";
import { more, name, section, table } from "../parts/table.js";
import { transcript } from "../parts/transcript.js";
import { toApp, toApps, toWorkflow } from "../routes.js";

/** JSON longer than this is truncated: a snapshot may have 8 MiB, which is too much to display. */
const MAX_SHOWN = 50_000;

/** One chat: its messages live, and its context, artifact and calls. */
export const chat = {
  frame: ({ appId, chatId }) => ({
    title: chatId,
    crumbs: [
      ["Apps", toApps()],
      [appId, toApp(appId)],
    ],
  }),

  open(screen, { appId, chatId }, signal) {
    const base = path`api/chats/${appId}/${chatId}`;
    const messages = transcript({ appId, chatId }, screen, { signal, happened });
    const asked = questions({ appId, chatId }, { signal, changed: () => screen.renew() });
    const context = { at: `${base}/context`, version: null, announced: 0 };
    const artifact = { at: `${base}/artifact`, version: null, announced: 0 };
    let people = { present: [], count: 0 };
    let wanted = 1;
    let costIsHidden = false;
    let workflow = null;
    let soon = null;
    // Loaded on demand only: every change is announced by an event.
    const refresh = poll(load, { every: null, signal, failed: (problem) => screen.fail(problem) });
    screen.onRetry(refresh);
    // Relative times change with the clock.
    const clock = setInterval(() => screen.renew(), 10_000);
    signal.addEventListener("abort", () => clearInterval(clock));

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
      if (events.every(({ name }) => name === "presence")) return;
      // Loads once for all events within a short time.
      soon ??= setTimeout(() => {
        soon = null;
        refresh();
      }, 300);
    }

    async function load() {
      const session = await get(base, signal);
      const calls = await readCalls();
      await Promise.all([readIfNew(context), readIfNew(artifact)]);
      // Set once, because it never changes, and new links would lose the focus.
      if (workflow === null) {
        workflow = session.workflow_name;
        screen.crumbs([
          ["Apps", toApps()],
          [appId, toApp(appId)],
          [workflow, toWorkflow(appId, workflow)],
        ]);
      }
      const further = () =>
        calls?.hasMore &&
        more("calls", () => {
          wanted += 1;
          refresh();
        });
      const beside = {
        context: context.answer.context_snapshot,
        artifact: artifact.answer.last_artifact,
      };
      const talk = () => [presentLine(people), asked.element(), messages.element()];
      screen.show(() => render(session, calls, beside, further(), talk()));
      await messages.start();
    }

    /** Reads the calls; null for a reader who may not see what the chat costs. That is asked for once. */
    async function readCalls() {
      if (costIsHidden) return null;
      try {
        return await pages(`${base}/calls`, "data", wanted, signal);
      } catch (problem) {
        if (problem.code !== "forbidden-permission") throw problem;
        costIsHidden = true;
        return null;
      }
    }

    /** Reads the context or the artifact, which may be large, if its version is new. */
    async function readIfNew(it) {
      const version = it.announced;
      if (it.version === version) return;
      it.answer = await getExact(it.at, signal);
      it.version = version;
    }
  },
};

function render(session, calls, { context, artifact }, further, talk) {
  const usage = calls?.first.usage;
  const cost = usage && [
    ["Calls", count(usage.calls), `${duration(usage.duration_ms)} in all`],
    [
      "Tokens",
      count(usage.total_tokens),
      `${count(usage.prompt_tokens)} in, ${count(usage.completion_tokens)} out`,
    ],
    ["Cost", money(usage.cost_micros_usd)],
  ];
  const hidden = "Only those who manage this chat see its calls and what they cost.";
  return [
    facts(session),
    figures(
      ["Messages", count(session.last_sequence)],
      [
        "Duration",
        session.duration_sec ? seconds(session.duration_sec) : "–",
        hasEnded(session) ? null : "not ended",
      ],
      ...(cost ?? []),
    ),
    jumps(),
    h(
      "div",
      { class: "chat", "data-key": "chat" },
      h("div", { class: "talk", "data-key": "talk" }, talk),
      h(
        "div",
        { class: "beside", "data-key": "beside" },
        section("Context", json(context, "Context", "This chat has no context snapshot.")),
        section(
          "Artifact",
          artifactFacts(artifact),
          json(artifact?.payload, "Artifact", "This chat has no artifact."),
        ),
        section("Calls", calls ? callTable(calls.items) : h("p", { class: "dim" }, hidden), further),
      ),
    ),
  ];
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
