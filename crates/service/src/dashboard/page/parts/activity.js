import { h } from "../dom.js";
import { count, duration, money, point, roundMoney } from "../format.js";
import { chart } from "./chart.js";
import { table } from "./table.js";

const DAY = 86_400_000;
const LENGTH = { hour: 3_600_000, day: DAY };

/** The filters for the chats that were created in a step. */
function createdIn(at, step) {
  const end = new Date(Date.parse(at) + LENGTH[step]);
  return { from: at, before: end.toISOString(), order_by: "created" };
}

/** The parameters of a series: 24 hours by hour, which is the default, or 30 days by day. */
export function range(step) {
  return step === "hour" ? { step } : { step, from: new Date(Date.now() - 29 * DAY).toISOString() };
}

/** Charts of all workflows of an app over the last 24 hours; a click on an hour leads to its `chats`. */
export function lastDay({ hours, workflows }, chats) {
  const sum = (field) =>
    hours.map((_, index) => workflows.reduce((all, { hourly }) => all + hourly[field][index], 0));
  const bars = (title, label, kind, field, format) =>
    chart({
      title,
      at: hours,
      step: "hour",
      format,
      chosen: (index) => {
        location.hash = chats(createdIn(hours[index], "hour"));
      },
      scale: format === money ? roundMoney : format,
      lines: [{ label, kind, style: "bar", values: sum(field) }],
    });
  return h(
    "section",
    { class: "panel", "data-key": "activity" },
    h("h2", {}, "Last 24 hours"),
    h(
      "div",
      { class: "charts three" },
      bars("Chats", "started", "starts", "starts", count),
      bars("Calls", "made", "calls", "calls", count),
      bars("Cost", "spent", "cost", "cost_micros_usd", money),
    ),
  );
}

/** Charts of a series; `address` returns the link to the same view with another step, `chats` that to some chats. */
export function activity({ step, points }, address, chats) {
  const at = points.map((it) => it.at);
  const chosen = (index) => {
    location.hash = chats(createdIn(at[index], step));
  };
  const common = { at, step, chosen };
  const bars = (label, kind, value) => ({ label, kind, style: "bar", values: points.map(value) });
  const steps = (measure) =>
    ["p50", "p95"].map((label) => ({
      label,
      kind: label,
      style: "step",
      latest: true,
      values: points.map((it) => it.percentiles[measure]?.[label] ?? null),
    }));
  const link = (text, of) =>
    h("a", { href: address(of), "aria-current": of === step && "true" }, text);
  return h(
    "section",
    { class: "panel", "data-key": "activity" },
    h(
      "div",
      { class: "heading" },
      h("h2", {}, "Activity"),
      h(
        "nav",
        { class: "choice", "aria-label": "Range" },
        link("24 hours", "hour"),
        link("30 days", "day"),
      ),
    ),
    h(
      "div",
      { class: "charts" },
      chart({
        ...common,
        title: "Chats",
        format: count,
        lines: [
          bars("started", "starts", (it) => it.starts),
          bars("completed", "completions", (it) => it.completions),
          bars("failed", "failures", (it) => it.failures),
        ],
      }),
      chart({
        ...common,
        title: "Calls",
        format: count,
        lines: [bars("made", "calls", (it) => it.usage.calls)],
      }),
      chart({
        ...common,
        title: "Cost",
        format: money,
        scale: roundMoney,
        lines: [bars("spent", "cost", (it) => it.usage.cost_micros_usd)],
      }),
      chart({
        ...common,
        title: "Call duration",
        format: duration,
        lines: steps("call_duration_ms"),
      }),
    ),
    h("details", {}, h("summary", {}, "The same as a table"), pointTable(points, step, chats)),
  );
}

function pointTable(points, step, chats) {
  const number = (title, cell, kind = "number") => ({ title, kind, cell });
  return table({
    caption: "Activity",
    key: (it) => it.at,
    rows: points.toReversed(),
    columns: [
      { title: step === "day" ? "Day" : "Hour", kind: "text", cell: (it) => point(it.at, step) },
      number("Started", (it) =>
        it.starts ? h("a", { href: chats(createdIn(it.at, step)) }, count(it.starts)) : count(0),
      ),
      number("Completed", (it) => count(it.completions), "rest"),
      number("Failed", (it) => count(it.failures), "rest"),
      number("Calls", (it) => count(it.usage.calls)),
      number("Tokens", (it) => count(it.usage.total_tokens), "rest"),
      number("Cost", (it) => money(it.usage.cost_micros_usd)),
      number("Call p95", (it) => duration(it.percentiles.call_duration_ms?.p95), "rest"),
    ],
  });
}
