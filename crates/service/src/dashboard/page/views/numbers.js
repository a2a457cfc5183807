import { get } from "../api.js";
import { h } from "../dom.js";
import { count, money } from "../format.js";
import { download } from "../parts/download.js";
import { appNav } from "../parts/nav.js";
import { section } from "../parts/table.js";
import { poll } from "../poll.js";
import { toApp, toApps } from "../routes.js";
import { announce } from "../screen.js";
import { listedCsv, listedSeriesCsv, readUsage, seriesCsv } from "../usage.js";
import { charts } from "./numbers/charts.js";
import { totals } from "./numbers/figures.js";
import { chooser, chosenRange, refused } from "./numbers/range.js";
import { listedTable, named, userLink, workflowTable } from "./numbers/tables.js";

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

function render(appId, range, usage) {
  const { calls, starts, completions, failures } = usage.now;
  if (calls + starts + completions + failures === 0) {
    const nothing = "Nothing happened in this range.";
    return [totals(usage), h("p", { class: "dim", "data-key": "nothing" }, nothing)];
  }
  return [
    totals(usage),
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
