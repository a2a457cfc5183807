// What the numbers of a range are made of: its workflows, users, agents and models, by cost.

import { h } from "../../dom.js";
import { count, duration, money, NONE } from "../../format.js";
import { sparkline } from "../../parts/chart.js";
import { name, nameLink, table } from "../../parts/table.js";
import { toChats, toWorkflow } from "../../routes.js";
import { average, changed } from "./figures.js";

/** The most rows of a table. */
const SHOWN = 10;

const tokensColumn = {
  title: "Tokens",
  kind: "rest",
  cell: ({ now }) => count(now.total_tokens),
};

const callsColumn = { title: "Calls", kind: "rest", cell: ({ now }) => count(now.calls) };

const costColumns = [
  { title: "Cost", kind: "number", cell: ({ now }) => money(now.cost_micros_usd) },
  {
    title: "Change",
    kind: "number",
    cell: ({ now, past }) => (past ? changed(now.cost_micros_usd, past.cost_micros_usd) : NONE),
  },
];

/** The cost of a row step by step, as bars. */
const timeColumn = ({ by }) => ({
  title: `By ${by}`,
  kind: "spark",
  cell: ({ points }) => {
    if (!points) return NONE;
    const costs = points.map((it) => it.usage.cost_micros_usd);
    return sparkline(
      costs,
      `At most ${money(Math.max(...costs))} ${by === "hour" ? "an hour" : `a ${by}`}`,
    );
  },
});

const averageColumn = {
  title: "Average call",
  kind: "rest",
  cell: ({ now }) => duration(average(now) && Math.round(average(now))),
};

export function workflowTable(appId, range, { workflows }) {
  const rows = workflows
    .filter(({ now, past }) => now.calls + now.starts + (past?.calls ?? 0) > 0)
    .toSorted((one, other) => other.now.cost_micros_usd - one.now.cost_micros_usd)
    .slice(0, SHOWN);
  if (rows.length === 0) return h("p", { class: "dim" }, "Nothing happened in this range.");
  return table({
    caption: "Workflows by cost",
    rows,
    key: (row) => row.name,
    columns: [
      {
        title: "Workflow",
        kind: "text",
        cell: (row) => nameLink(row.name, toWorkflow(appId, row.name)),
      },
      timeColumn(range),
      { title: "Failures", kind: "rest", cell: ({ now }) => count(now.failures) },
      averageColumn,
      // Without the calls: names need the place, and the page of a workflow has them.
      tokensColumn,
      ...costColumns,
    ],
  });
}

/** The cell of a user, and of an agent or model, for `listedTable`. */
export const userLink = (appId) => (user) => nameLink(user, toChats(appId, { user_id: user }));
export const named = (of) => (of === null ? h("span", { class: "dim" }, "unknown") : name(of));

export function listedTable(title, range, { items }, cell) {
  const rows = items.slice(0, SHOWN);
  if (rows.length === 0) return h("p", { class: "dim" }, "Nothing was used in this range.");
  return table({
    caption: `${title}s by cost`,
    rows,
    key: (row) => row.key,
    columns: [
      { title, kind: "text", cell: (row) => cell(row.name) },
      timeColumn(range),
      averageColumn,
      tokensColumn,
      callsColumn,
      ...costColumns,
    ],
  });
}
