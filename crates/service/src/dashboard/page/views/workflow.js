import { get, pages, path, query } from "../api.js";
import { h } from "../dom.js";
import { count, duration, many, money, seconds } from "../format.js";
import { poll } from "../poll.js";
import { activity, range } from "../parts/activity.js";
import { firstChat } from "../parts/command.js";
import { marks } from "../parts/chat_list.js";
import { percentiles, status, statusBar, summaryFigures, time } from "../parts/summary.js";
import { more, name, nameLink, section, table } from "../parts/table.js";
import { toApp, toApps, toChat, toChats, toWorkflow } from "../routes.js";
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

  open(screen, { given, ...named }, signal) {
    const route = { ...named, step: given.step === "day" ? "day" : "hour" };
    let wanted = 1;
    let seesChats = true;
    const refresh = poll(load, { every: 5_000, signal, failed: (problem) => screen.fail(problem) });
    screen.onRetry(refresh);

    async function load() {
      const base = path`api/stats/${route.appId}/${route.workflow}`;
      const [stats, series, chats, known] = await Promise.all([
        get(base, signal),
        get(query(`${base}/series`, range(route.step)), signal),
        pages(`${base}/chats`, "chats", wanted, signal),
        seesChats ? sessions() : [],
      ]);
      const further =
        chats.hasMore &&
        more("chats", () => {
          wanted += 1;
          refresh();
        });
      screen.show(() => render(route, stats, series, rows(chats, known), further));
      announce(`${many(stats.chats, "chat")}, ${count(stats.statuses.running)} running`);
    }

    /** Returns the chat sessions of the same chats; none for operators, who see statistics and no chats. */
    async function sessions() {
      const filters = { workflow_name: route.workflow, order_by: "created", lifecycle: "all" };
      try {
        return (await pages(path`api/chats/${route.appId}`, "data", wanted, signal, filters)).items;
      } catch (problem) {
        if (problem.status !== 403) throw problem;
        seesChats = false;
        return [];
      }
    }
  },
};

/** Joins what the statistics and the sessions say of the same chats. */
function rows(chats, known) {
  const byId = new Map(known.map((session) => [session.chat_id, session]));
  return chats.items.map((it) => ({ ...it, session: byId.get(it.chat_id) }));
}

function render(route, stats, series, chats, further) {
  if (stats.chats === 0 && stats.usage.calls === 0) return [empty(route)];
  const chatsOf = (filters) =>
    toChats(route.appId, { workflow_name: route.workflow, lifecycle: "all", ...filters });
  return [
    summaryFigures(stats, chatsOf),
    statusBar(stats, chatsOf),
    activity(series, (step) => toWorkflow(route.appId, route.workflow, step), chatsOf),
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
  return [
    row.model === null ? h("span", { class: "dim" }, "unknown") : name(row.model),
    row.provider && name(row.provider, "name under"),
  ];
}

function linkTo(appId, { chat_id: chatId, session }) {
  const title = session?.title;
  return [
    nameLink(title ?? chatId, toChat(appId, chatId)),
    session &&
      h("span", { class: "name-row" }, marks(session), title && name(chatId, "name under")),
  ];
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
        cell: (row) => linkTo(appId, row),
      },
      { title: "Status", kind: "label", cell: (row) => status(row.status ?? "removed") },
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
