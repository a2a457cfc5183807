// Beside the messages of a chat: its newest context snapshot, its artifact, and its calls.

import { getExact } from "../../api.js";
import { h } from "../../dom.js";
import { count, duration, many, money } from "../../format.js";
import { block, formatJson } from "../../parts/json.js";
import { more, name, section, table } from "../../parts/table.js";

/** JSON longer than this is truncated: a snapshot may have 8 MiB, which is too much to display. */
const MAX_SHOWN = 50_000;
/** The calls that are listed at once. */
const CALLS = 50;

/** The panels for the chat at `base`; `log` has its calls, and `changed` is called when `element` has changed. */
export function beside(base, screen, { signal, log, changed }) {
  const context = { at: `${base}/context`, version: null, announced: 0, answer: null };
  const artifact = { at: `${base}/artifact`, version: null, announced: 0, answer: null };
  let wanted = CALLS;

  /** Notes the versions that events announce, for the next `load`. */
  function happened(events) {
    for (const { name: event, data } of events) {
      if (event === "context") context.announced = data.version;
      if (event === "artifact") artifact.announced = data.version;
      if (event === "caught-up") {
        context.announced = data.context_version;
        artifact.announced = data.artifact_version;
      }
    }
  }

  async function load() {
    await Promise.all([log.refresh(), readIfNew(context), readIfNew(artifact)]);
  }

  /** Reads the context or the artifact, which may be large, if its version is new. */
  async function readIfNew(it) {
    const version = it.announced;
    if (it.version === version) return;
    it.answer = await getExact(it.at, signal);
    it.version = version;
  }

  function element() {
    const snapshot = context.answer?.context_snapshot;
    const last = artifact.answer?.last_artifact;
    return [
      section(
        "Context",
        context.answer
          ? json(snapshot, "Context", "This chat has no context snapshot.")
          : loading(),
      ),
      section(
        "Artifact",
        last && h("p", { class: "dim" }, name(`${last.ui_tool_id} · ${last.display}`)),
        artifact.answer
          ? json(last?.payload, "Artifact", "This chat has no artifact.")
          : loading(),
      ),
      section("Calls", calls()),
    ];
  }

  function calls() {
    if (log.areHidden) {
      const hidden = "Only those who manage this chat see its calls and what they cost.";
      return h("p", { class: "dim" }, hidden);
    }
    if (!log.usage) return loading();
    const all = log.newest();
    const hasMore = all.length > wanted || log.hasMore();
    return [callTable(all.slice(0, wanted)), hasMore && more("calls", moreCalls)];
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

  return { happened, load, element };
}

/** Buttons for narrow screens, where these panels are far below the messages. */
export function jumps() {
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

const loading = () => h("p", { class: "dim" }, "Loading…");

function json(value, label, otherwise) {
  const text = formatJson(value ?? {});
  if (text === "{}") return h("p", { class: "dim" }, otherwise);
  const rest = text.length - MAX_SHOWN;
  return [
    block(text.slice(0, MAX_SHOWN), { tabindex: "0", role: "region", "aria-label": label }),
    rest > 0 && h("p", { class: "dim" }, `${many(rest, "more character")} not shown.`),
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
