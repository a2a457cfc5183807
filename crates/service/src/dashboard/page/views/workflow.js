import { get, pages, path, query } from "../api.js";
import { h } from "../dom.js";
import { count, duration, money, seconds } from "../format.js";
import { poll } from "../poll.js";
import { activity, range } from "../parts/activity.js";
import { firstChat } from "../parts/command.js";
import { percentiles, status, statusBar, summaryFigures, time } from "../parts/summary.js";
import { more, name, nameLink, section, table } from "../parts/table.js";
import { toApp, toApps, toChat, toWorkflow } from "../routes.js";
import { announce } from "../screen.js";

/** One workflow: its statistics over time, by agent and by model, and its newest chats. */
export const workflow = {
  frame: ({ appId, workflow: title }) => ({
    title,
    crumbs: [
      ["Apps", toApps()],
      [appId, toApp(appId)],
    ],
  }),

  open(screen, route, signal) {
    let wanted = 1;
    const refresh = poll(load, { every: 5_000, signal, failed: (problem) => screen.fail(problem) });
    screen.onRetry(refresh);

    async function load() {
      const base = path`api/stats/${route.appId}/${route.workflow}`;
      const [stats, series, chats] = await Promise.all([
        get(base, signal),
        get(query(`${base}/series`, range(route.step)), signal),
        pages(`${base}/chats`, "chats", wanted, signal),
      ]);
      const further =
        chats.hasMore &&
        more("chats", () => {
          wanted += 1;
          refresh();
        });
      screen.show(() => render(route, stats, series, chats.items, further));
      announce(`${count(stats.chats)} chats, ${count(stats.statuses.running)} running`);
    }
  },
};

function render(route, stats, series, chats, further) {
  if (stats.chats === 0 && stats.usage.calls === 0) return [empty(route)];
  return [
    summaryFigures(stats),
    statusBar(stats),
    activity(series, (step) => toWorkflow(route.appId, route.workflow, step)),
    h(
      "div",
      { class: "columns", "data-key": "columns" },
      section("Percentiles", percentiles(stats.percentiles)),
      section(
        "Top agents",
        top("Agent", stats.top_agents, (row) =>
          row.agent === null ? h("span", { class: "dim" }, "unknown") : name(row.agent),
        ),
      ),
      section("Top models", top("Model", stats.top_models, model)),
    ),
    section("Newest chats", chatList(route.appId, chats), further),
  ];
}

function top(title, rows, cell) {
  if (rows.length === 0) return h("p", { class: "dim" }, "No calls are recorded.");
  return table({
    caption: title,
    rows,
    key: (row) => JSON.stringify([row.agent, row.provider, row.model]),
    columns: [
      { title, kind: "text", cell },
      { title: "Calls", kind: "number", cell: (row) => count(row.usage.calls) },
      { title: "Tokens", kind: "rest", cell: (row) => count(row.usage.total_tokens) },
      {
        title: "p95",
        kind: "number",
        cell: (row) => duration(row.percentiles.call_duration_ms?.p95),
      },
      { title: "Cost", kind: "number", cell: (row) => money(row.usage.cost_micros_usd) },
    ],
  });
}

function model(row) {
  if (row.model === null) return h("span", { class: "dim" }, "unknown");
  return [name(row.model), row.provider && name(row.provider, "name under")];
}

function chatList(appId, chats) {
  return table({
    caption: "Newest chats",
    rows: chats,
    key: (row) => row.chat_id,
    columns: [
      {
        title: "Chat",
        kind: "text",
        cell: (row) => nameLink(row.chat_id, toChat(appId, row.chat_id)),
      },
      { title: "Status", kind: "label", cell: (row) => status(row.status) },
      { title: "Started", kind: "rest", cell: (row) => time(row.started_at) },
      { title: "Duration", kind: "number", cell: (row) => seconds(row.duration_sec) },
      { title: "Calls", kind: "rest", cell: (row) => count(row.usage.calls) },
      { title: "Tokens", kind: "rest", cell: (row) => count(row.usage.total_tokens) },
      { title: "Cost", kind: "number", cell: (row) => money(row.usage.cost_micros_usd) },
    ],
  });
}

function empty({ appId, workflow: title }) {
  return section(
    "This workflow has not run",
    h("p", {}, "Start a chat with this workflow; its statistics appear here."),
    firstChat(appId, title),
  );
}
