import { get, pages, path } from "../api.js";
import { h } from "../dom.js";
import { count, many } from "../format.js";
import { poll } from "../poll.js";
import { lastDay } from "../parts/activity.js";
import { sparkline } from "../parts/chart.js";
import { firstChat } from "../parts/command.js";
import { chatList } from "../parts/chat_list.js";
import { appNav } from "../parts/nav.js";
import { searchBox } from "../parts/search_box.js";
import { statusBar, summaryColumns, summaryFigures, time } from "../parts/summary.js";
import { more, nameLink, section, table } from "../parts/table.js";
import { toApps, toChats, toWorkflow } from "../routes.js";
import { announce } from "../screen.js";

/** The workflows of an app; for users who may not read statistics, the chats that they may see. */
export const app = {
  frame: ({ appId }) => ({ title: appId, crumbs: [["Apps", toApps()]] }),

  open(screen, { appId }, signal) {
    let wanted = 1;
    let load = loadStats;
    const failed = (problem) => screen.fail(problem);
    const refresh = poll(() => load(), { every: 5_000, signal, failed });
    screen.onRetry(refresh);

    async function loadStats() {
      try {
        const stats = await get(path`api/stats/${appId}`, signal);
        screen.show(() => render(stats));
        announce(`${many(stats.chats, "chat")}, ${count(stats.statuses.running)} running`);
      } catch (problem) {
        if (problem.code !== "forbidden-role") throw problem;
        load = loadChats;
        await loadChats();
      }
    }

    async function loadChats() {
      const chats = await pages(path`api/chats/${appId}`, "data", wanted, signal, {
        order_by: "active",
      });
      const further =
        chats.hasMore &&
        more("chats", () => {
          wanted += 1;
          refresh();
        });
      screen.show(() => renderChats(appId, chats.items, further));
    }
  },
};

function head(appId) {
  const search = searchBox({ label: "Search titles, ids, users and messages" }, (q) => {
    location.hash = toChats(appId, { q });
  });
  return [appNav(appId, "app"), search];
}

function render(stats) {
  if (stats.workflows.length === 0) return [empty(stats.app_id)];
  const chats = (filters) => toChats(stats.app_id, { lifecycle: "all", ...filters });
  const columns = [
    {
      title: "Workflow",
      kind: "text",
      cell: (row) => nameLink(row.workflow_name, toWorkflow(stats.app_id, row.workflow_name)),
    },
    { title: "Last 24 h", kind: "spark", cell: ({ hourly }) => hours(hourly) },
    { title: "Updated", kind: "rest", cell: (row) => time(row.last_updated_at) },
    ...summaryColumns,
  ];
  return [
    head(stats.app_id),
    summaryFigures(stats, chats),
    statusBar(stats, chats),
    section(
      "Workflows",
      table({
        caption: "Workflows",
        columns,
        rows: stats.workflows,
        key: (row) => row.workflow_name,
      }),
    ),
    lastDay(stats, chats),
  ];
}

/** Calls by hour; for a workflow without calls, starts. */
function hours({ calls, starts }) {
  const [what, values] = calls.some(Boolean) ? ["calls", calls] : ["starts", starts];
  const all = values.reduce((sum, value) => sum + value, 0);
  const most = Math.max(...values);
  return sparkline(values, `${count(all)} ${what} in 24 hours, at most ${count(most)} an hour`);
}

function renderChats(appId, chats, further) {
  const list = chats.length
    ? chatList(appId, chats)
    : h("p", { class: "dim" }, "This app has no chats that you may see.");
  return [
    head(appId),
    h(
      "p",
      { class: "dim", "data-key": "restricted" },
      "This token may not read statistics. These are the chats that it may see.",
    ),
    section("Chats", list, further),
  ];
}

function empty(appId) {
  return section(
    "No workflow has run in this app",
    h("p", {}, "Start a chat and append a message; its workflow appears here."),
    firstChat(appId),
  );
}
