// The parts that apps, workflows and chats share: statuses, usage, percentiles.

import { h } from "../dom.js";
import { ago, count, duration, many, moment, money, share } from "../format.js";
import { table } from "./table.js";

export const STATUSES = ["running", "paused", "completed", "failed"];

export function status(of) {
  return h("span", { class: `status ${STATUSES.includes(of) ? of : ""}` }, of);
}

export function time(at) {
  return at ? h("time", { datetime: at, title: moment(at) }, ago(at)) : "–";
}

/** Figures side by side: a label, a text and optionally a note and a link each. */
export function figures(...items) {
  return h(
    "dl",
    { class: "figures" },
    items.map(([label, text, note, href]) =>
      h(
        "div",
        {},
        h("dt", {}, label),
        h("dd", {}, href ? h("a", { href }, text) : text, note && h("small", {}, note)),
      ),
    ),
  );
}

/** The sums of an app or a workflow; `chats` returns the link to its chats with more filters. */
export function summaryFigures(of, chats) {
  return figures(
    ["Chats", count(of.chats), many(of.events.starts, "start"), chats({})],
    [
      "Running",
      count(of.statuses.running),
      `${count(of.statuses.paused)} paused`,
      chats({ status: "running" }),
    ],
    [
      "Error rate",
      share(of.error_rate),
      `${count(of.statuses.failed)} failed`,
      chats({ status: "failed" }),
    ],
    ["Calls", count(of.usage.calls), `${duration(of.usage.duration_ms)} in all`],
    [
      "Tokens",
      count(of.usage.total_tokens),
      `${count(of.usage.prompt_tokens)} in, ${count(of.usage.completion_tokens)} out`,
    ],
    ["Cost", money(of.usage.cost_micros_usd), `${perCall(of.usage)} a call`],
  );
}

function perCall({ calls, cost_micros_usd: cost }) {
  return calls === 0 ? "–" : money(Math.round(cost / calls));
}

/** The statuses of the chats, as a bar and as a legend, which both lead to `chats` with that status. */
export function statusBar({ statuses, chats: all }, chats) {
  const parts = STATUSES.map((name) => {
    // The legend has the same links for the keyboard.
    const bar = h("a", { class: `part ${name}`, href: chats({ status: name }), tabindex: "-1" });
    bar.style.flexGrow = statuses[name];
    return statuses[name] > 0 && bar;
  });
  const legend = STATUSES.map((name) =>
    h(
      "li",
      {},
      h(
        "a",
        { href: chats({ status: name }) },
        status(name),
        " ",
        h("b", {}, count(statuses[name])),
      ),
      all > 0 && h("small", {}, ` ${share(statuses[name] / all)}`),
    ),
  );
  return h(
    "div",
    { class: "statuses", "data-key": "statuses" },
    h("div", { class: "bar", "aria-hidden": "true" }, parts),
    h("ul", {}, legend),
  );
}

/** The columns of every list of summaries. */
export const summaryColumns = [
  { title: "Chats", kind: "number", cell: (row) => count(row.chats) },
  { title: "Running", kind: "number", cell: (row) => count(row.statuses.running) },
  { title: "Paused", kind: "rest", cell: (row) => count(row.statuses.paused) },
  { title: "Completed", kind: "rest", cell: (row) => count(row.statuses.completed) },
  { title: "Failed", kind: "rest", cell: (row) => count(row.statuses.failed) },
  { title: "Error rate", kind: "rest", cell: (row) => share(row.error_rate) },
  { title: "Calls", kind: "rest", cell: (row) => count(row.usage.calls) },
  { title: "Tokens", kind: "rest", cell: (row) => count(row.usage.total_tokens) },
  { title: "Cost", kind: "number", cell: (row) => money(row.usage.cost_micros_usd) },
];

const MEASURES = [
  ["chat_duration_ms", "Chat, duration", duration],
  ["chat_tokens", "Chat, tokens", count],
  ["chat_cost_micros_usd", "Chat, cost", money],
  ["call_duration_ms", "Call, duration", duration],
  ["call_tokens", "Call, tokens", count],
  ["call_cost_micros_usd", "Call, cost", money],
];

export function percentiles(of) {
  const column = (at) => ({
    title: at,
    kind: "number",
    cell: ([measure, , format]) => format(of[measure]?.[at]),
  });
  return table({
    caption: "Percentiles",
    key: ([measure]) => measure,
    rows: MEASURES,
    columns: [
      { title: "Of each", kind: "text", cell: ([, label]) => label },
      { title: "Counted", kind: "rest", cell: ([measure]) => count(of[measure]?.count) },
      column("p50"),
      column("p95"),
      column("p99"),
    ],
  });
}
