import { get } from "../api.js";
import { h } from "../dom.js";
import { count, duration, money, NONE, roundMoney, share } from "../format.js";
import { SINCE } from "../lists.js";
import { chart, sparkline } from "../parts/chart.js";
import { download } from "../parts/download.js";
import { appNav } from "../parts/nav.js";
import { figures } from "../parts/summary.js";
import { name, nameLink, section, table } from "../parts/table.js";
import { poll } from "../poll.js";
import { toApp, toApps, toChats, toNumbers, toWorkflow } from "../routes.js";
import { announce } from "../screen.js";
import { listedCsv, listedSeriesCsv, rangeOf, readUsage, seriesCsv } from "../usage.js";
import { fromInput, toInput, zone } from "../zone.js";

const RANGES = ["today", "day", "week", "month"];
/** The most rows of a table. */
const SHOWN = 10;

/** What an app costs and does in a range of time, compared with the range before. */
export const numbers = {
  frame: ({ appId }) => ({
    title: "Numbers",
    crumbs: [
      ["Apps", toApps()],
      [appId, toApp(appId)],
    ],
  }),

  open(screen, { appId, given }, signal) {
    const frame = () => [appNav(appId, "numbers"), chooser(appId, given)];
    const refusal = refused(given, Date.now());
    if (refusal) return screen.show(() => [...frame(), h("p", { role: "status" }, refusal)]);
    const refresh = poll(load, {
      every: 60_000,
      signal,
      failed: (problem) => screen.fail(problem),
    });
    screen.onRetry(refresh);
    // The numbers take many requests; a small one notices sooner that the service is away, and that it is back.
    let isAway = false;
    const check = async () => {
      await get("api/health/live", signal);
      if (isAway) refresh();
      isAway = false;
    };
    const failed = (problem) => {
      isAway = true;
      screen.fail(problem);
    };
    poll(check, { every: 3_000, signal, failed });
    screen.show(() => [...frame(), h("p", { class: "waiting" }, "Loading…")]);

    async function load() {
      const range = chosenRange(given);
      const usage = await readUsage(appId, range, signal);
      screen.show(() => [...frame(), render(appId, range, usage)]);
      announce(`Cost ${money(usage.now.cost_micros_usd)}`);
    }
  },
};

/** Says why there is no such range; null if there is one. */
function refused({ from, before }, now) {
  for (const [label, at] of Object.entries({ beginning: from, end: before })) {
    if (at && Number.isNaN(Date.parse(at))) return `The ${label} of the range, “${at}”, is no time.`;
  }
  if (from && before && Date.parse(before) <= Date.parse(from))
    return "The range ends before it begins. Choose an end after the beginning.";
  if (from && Date.parse(from) >= now) return "The range begins in the future.";
  return null;
}

function chosenRange(given) {
  // Read once: a millisecond between two readings would make 7 days longer than 7 days.
  const now = new Date();
  if (given.from) {
    const before = given.before ? Date.parse(given.before) : now.getTime();
    return rangeOf(Date.parse(given.from), Math.min(before, now.getTime()));
  }
  // The last 24 hours are 24 with the one that has begun.
  return rangeOf(sinceOf(given).from(now).getTime(), now.getTime(), Math.ceil);
}

const sinceOf = ({ since }) => SINCE[RANGES.includes(since) ? since : "today"];

function chooser(appId, given) {
  const chosen = given.from ? null : sinceOf(given);
  const link = (since) =>
    h(
      "a",
      { href: toNumbers(appId, { since }), "aria-current": SINCE[since] === chosen && "true" },
      SINCE[since].label,
    );
  const onsubmit = (event) => {
    event.preventDefault();
    const stated = new FormData(event.target);
    const [from, before] = [fromInput(stated.get("from")), fromInput(stated.get("before"))];
    if (from) location.hash = toNumbers(appId, { from, before });
  };
  const input = (field, label) => [
    h("label", { for: `range-${field}` }, label),
    h("input", {
      id: `range-${field}`,
      name: field,
      type: "datetime-local",
      value: toInput(given[field]),
    }),
  ];
  return h(
    "div",
    { class: "ranges", "data-key": "ranges" },
    h("nav", { class: "choice", "aria-label": "Range" }, RANGES.map(link)),
    h(
      "form",
      { class: "row", onsubmit, "aria-label": "Another range" },
      input("from", `From (${zone.name()})`),
      input("before", "before"),
      h("button", { type: "submit" }, "Show"),
    ),
  );
}

function render(appId, range, usage) {
  return [
    totals(range, usage),
    charts(appId, range, usage),
    h(
      "div",
      { class: "columns two", "data-key": "most" },
      section("Workflows by cost", workflowTable(appId, range, usage)),
      section("Users by cost", listedTable("User", range, usage.users, userLink(appId))),
      section("Agents by cost", listedTable("Agent", range, usage.agents, named)),
      section("Models by cost", listedTable("Model", range, usage.models, named)),
    ),
    downloads(appId, range, usage),
    h("p", { class: "dim", "data-key": "note" }, note(range, usage)),
  ];
}

function downloads(appId, { by }, usage) {
  const button = (text, make) => {
    const file = `${appId}-${text.replaceAll(" ", "-")}.csv`;
    return h("button", { type: "button", onclick: () => download(make(), file, "text/csv") }, text);
  };
  const lists = ["user", "agent", "model"];
  return h(
    "div",
    { class: "row", role: "group", "aria-label": "Download as CSV", "data-key": "csv" },
    h("span", { class: "dim" }, "Download as CSV:"),
    lists.map((of) => button(`${of}s`, () => listedCsv(of, usage[`${of}s`]))),
    button(`workflows by ${by}`, () => seriesCsv(usage.workflows)),
    lists.map((of) => button(`${of}s by ${by}`, () => listedSeriesCsv(of, usage[`${of}s`]))),
  );
}

function note({ days, step, by, isCompared, isCut }, { left, ...usage }) {
  const compared =
    days === 1 ? "the same hours of the day before" : `the ${count(days)} days before`;
  const parts = [
    isCompared
      ? `Changes are against ${compared}.`
      : "The range is too long to be compared with the one before.",
  ];
  if (isCut) parts.push(`Only its last ${count(days)} days are counted.`);
  if (step === "day") parts.push("Days are days in UTC.");
  if (left > 0)
    parts.push(`The ${count(left)} workflows that were updated longest ago are not counted.`);
  for (const of of ["users", "agents", "models"]) {
    if (usage[of].hasMore) parts.push(`Only the most expensive ${of} are listed.`);
    const drawn = usage[of].items.filter((it) => it.points).length;
    if (drawn === 0 && usage[of].items.length > 0) parts.push(`The ${of} are not listed by ${by}.`);
    else if (drawn < usage[of].items.length)
      parts.push(`Of the ${of}, the first ${count(drawn)} are listed by ${by}.`);
  }
  return parts.join(" ");
}

const average = ({ calls, duration_ms: all }) => (calls === 0 ? null : all / calls);

function totals(_range, { now, past }) {
  const item = (label, format, of) => [label, format(of(now)), changed(of(now), past && of(past))];
  return figures(
    item("Cost", money, (it) => it.cost_micros_usd),
    item("Tokens", count, (it) => it.total_tokens),
    item("Calls", count, (it) => it.calls),
    item("Chats started", count, (it) => it.starts),
    item("Failures", count, (it) => it.failures),
    item("Average call", (ms) => duration(ms && Math.round(ms)), average),
  );
}

/** How a number has changed: +12 %, or "none before". */
function changed(now, past) {
  if (past === null || past === undefined || now === null) return "no comparison";
  if (past === 0) return now === 0 ? "as before" : "none before";
  const ratio = now / past - 1;
  if (Math.abs(ratio) < 0.0005) return "as before";
  return `${ratio > 0 ? "+" : "−"}${share(Math.abs(ratio))}`;
}

function charts(appId, { by, end: last }, { points, now }) {
  const at = points.map((it) => it.at);
  const chosen = (index) => {
    const end = at[index + 1] ?? new Date(last).toISOString();
    location.hash = toChats(appId, { from: at[index], before: end, lifecycle: "all" });
  };
  const bars = (label, kind, of) => ({ label, kind, style: "bar", values: points.map(of) });
  const common = { at, step: by, chosen };
  return h(
    "section",
    { class: "panel", "data-key": "charts" },
    h("h2", {}, `By ${by}`),
    h(
      "div",
      { class: "charts" },
      chart({
        ...common,
        title: "Cost",
        format: money,
        scale: roundMoney,
        lines: [bars("spent", "cost", (it) => it.cost_micros_usd)],
      }),
      chart({
        ...common,
        title: "Tokens",
        format: count,
        lines: [bars("used", "calls", (it) => it.total_tokens)],
      }),
      chart({
        ...common,
        title: "Chats ended",
        format: count,
        lines: [
          bars("completed", "completions", (it) => it.completions),
          bars("failed", "failures", (it) => it.failures),
        ],
      }),
      chart({
        ...common,
        title: "Call duration",
        format: (ms) => duration(ms && Math.round(ms)),
        lines: [
          {
            label: "average",
            kind: "p50",
            style: "step",
            whole: average(now),
            values: points.map(average),
          },
        ],
      }),
    ),
  );
}

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

function workflowTable(appId, range, { workflows }) {
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

const userLink = (appId) => (user) => nameLink(user, toChats(appId, { user_id: user }));
const named = (of) => (of === null ? h("span", { class: "dim" }, "unknown") : name(of));

function listedTable(title, range, { items }, cell) {
  const rows = items.slice(0, SHOWN);
  if (rows.length === 0) return h("p", { class: "dim" }, "Nothing was used in this range.");
  return table({
    caption: `${title}s by cost`,
    rows,
    key: (row) => String(row.name),
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
