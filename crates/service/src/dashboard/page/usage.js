// Reads the usage of an app in a range of time and in the range before, and adds it up.

import { get, path, query } from "./api.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The most workflows whose series are read; the others are named, not counted. */
const MAX_WORKFLOWS = 60;
/** The most users, agents and models that are listed of a range. */
const MAX_LISTED = 100;
/** The most of them that are listed step by step, and the most steps of all of them, as the API has it. */
const MAX_DRAWN = 50;
const MAX_POINTS = 10_000;
/** The most steps of a request for a series: one less than in the API, because a range ends within its last step. */
const MAX_STEPS = 999;
/** The longest range, and the longest one that is compared with the one before, in days. */
const MAX_DAYS = 3_660;
const MAX_COMPARED_DAYS = 1_000;
/** More days than this are drawn and listed by month: a day would be narrower than a pixel. */
const MAX_DRAWN_DAYS = 400;

const FIELDS = [
  "calls",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "cost_micros_usd",
  "duration_ms",
];

/**
 * Returns the range to read: whole hours up to 7 days, else whole days (UTC), with the one to compare it with: the
 * same hours, as many whole days earlier as the range needs. `round` decides on the part of an hour, or of a day, at the
 * beginning. A range that is too long begins later, and is `isCut`; a long one is not compared. `step` is that of the
 * requests, and `by` that of what is shown.
 */
export function rangeOf(from, before, round = Math.floor) {
  const step = before - from > 7 * DAY ? "day" : "hour";
  const length = step === "day" ? DAY : HOUR;
  const end = Math.ceil(before / length) * length;
  const first = Math.min(round(from / length) * length, end - length);
  const start = Math.max(first, end - MAX_DAYS * DAY);
  const shift = Math.ceil((end - start) / DAY) * DAY;
  const days = shift / DAY;
  const by = days > MAX_DRAWN_DAYS ? "month" : step;
  const isCompared = days <= MAX_COMPARED_DAYS;
  return { step, by, start, end, shift, days, isCompared, isCut: start > first };
}

/** Reads what an app has used in a range and in the one before, by workflow, user, agent and model. */
export async function readUsage(appId, range, signal) {
  const stats = await get(path`api/stats/${appId}`, signal);
  const newest = stats.workflows.toSorted((one, other) =>
    (other.last_updated_at ?? "").localeCompare(one.last_updated_at ?? ""),
  );
  const names = newest.slice(0, MAX_WORKFLOWS).map((it) => it.workflow_name);
  const [series, users, agents, models] = await Promise.all([
    Promise.all(names.map((name) => workflowSeries(appId, name, range, signal))),
    listed(path`api/user-stats/${appId}`, "users", (it) => it.user_id, range, signal),
    listed(path`api/agent-stats/${appId}`, "agents", (it) => it.agent, range, signal),
    listed(path`api/model-stats/${appId}`, "models", modelName, range, signal),
  ]);
  const workflows = names.map((name, index) => ({ name, ...series[index] }));
  return {
    workflows,
    left: newest.length - names.length,
    now: sum(workflows.map((it) => it.now)),
    past: range.isCompared ? sum(workflows.map((it) => it.past)) : null,
    points: joined(series.map((it) => it.points)),
    users,
    agents,
    models,
  };
}

/** The last moment of a range, which the API takes as included. */
const last = (end) => new Date(end - 1).toISOString();

async function workflowSeries(appId, name, { step, by, start, end, shift, isCompared }, signal) {
  const base = path`api/stats/${appId}/${name}/series`;
  const points = await seriesPoints(base, step, isCompared ? start - shift : start, end, signal);
  const within = (first, until) =>
    points.filter(({ at }) => Date.parse(at) >= first && Date.parse(at) < until);
  const now = within(start, end);
  const past = isCompared ? sum(within(start - shift, end - shift).map(flat)) : null;
  return { points: shownBy(by, now), now: sum(now.map(flat)), past };
}

/** The points of a series for the steps that are shown. */
function shownBy(by, points) {
  if (by !== "month") return points;
  const months = Map.groupBy(points, ({ at }) => at.slice(0, 7));
  return [...months.values()].map((of) => {
    const { starts, completions, failures, ...usage } = sum(of.map(flat));
    return { at: of[0].at, starts, completions, failures, usage };
  });
}

/** Reads the points of a series, in as many pieces as it needs. */
async function seriesPoints(base, step, start, end, signal) {
  const most = MAX_STEPS * lengthOf(step);
  const pieces = [];
  for (let from = start; from < end; from += most) {
    const to = last(Math.min(from + most, end));
    pieces.push(get(query(base, { step, from: new Date(from).toISOString(), to }), signal));
  }
  return (await Promise.all(pieces)).flatMap(({ points }) => points);
}

const lengthOf = (step) => (step === "day" ? DAY : HOUR);

/** A model with its provider, as far as they are known; null if neither is. */
function modelName({ provider, model }) {
  if (!provider) return model;
  return model === null ? `${provider}, unknown model` : `${provider}/${model}`;
}

/** What tells the entries of a list apart: two of them may have the same name. */
const keyOf = (it) => JSON.stringify([it.user_id, it.agent, it.provider, it.model]);

/** What a list says of a range, and of the range before, and step by step of the first ones. */
async function listed(base, field, nameOf, range, signal) {
  const { step, by, start, end, shift, isCompared } = range;
  const read = async (first, until, more) => {
    const given = { from: new Date(first).toISOString(), to: last(until), ...more };
    const answer = await get(query(base, given), signal);
    return { items: answer[field], hasMore: answer.has_more ?? answer.next_cursor !== null };
  };
  const steps = (end - start) / lengthOf(step);
  const drawn = steps > MAX_STEPS ? 0 : Math.min(MAX_DRAWN, Math.floor(MAX_POINTS / steps));
  const nothing = { items: [], hasMore: true };
  const [now, past, first] = await Promise.all([
    read(start, end, { limit: MAX_LISTED }),
    isCompared ? read(start - shift, end - shift, { limit: MAX_LISTED }) : nothing,
    drawn > 0 ? read(start, end, { limit: drawn, step }) : nothing,
  ]);
  const earlier = new Map(past.items.map((it) => [keyOf(it), it.usage]));
  const points = new Map(first.items.map((it) => [keyOf(it), shownBy(by, it.points)]));
  const items = now.items.map((it) => ({
    key: keyOf(it),
    name: nameOf(it),
    now: it.usage,
    points: points.get(keyOf(it)),
    // What is beyond the end of the list may have used something then.
    past: earlier.get(keyOf(it)) ?? (past.hasMore ? null : sum([])),
  }));
  return { items, hasMore: now.hasMore };
}

/** The numbers of a point, side by side. */
const flat = ({ starts, completions, failures, usage }) => ({
  starts,
  completions,
  failures,
  ...usage,
});

function sum(all) {
  const fields = ["starts", "completions", "failures", ...FIELDS];
  const add = (field) => all.reduce((total, it) => total + (it[field] ?? 0), 0);
  return Object.fromEntries(fields.map((field) => [field, add(field)]));
}

/** Adds up the series of all workflows, point by point. */
function joined(series) {
  const [first = []] = series;
  return first.map(({ at }, index) => ({
    at,
    ...sum(series.map((points) => flat(points[index]))),
  }));
}

const CSV_FIELDS = ["starts", "completions", "failures", ...FIELDS];

/** The series of every workflow as CSV, one line for each step in which something happened. */
export function seriesCsv(workflows) {
  const lines = workflows.flatMap(({ name, points }) =>
    points
      .map((point) => ({ at: point.at, ...flat(point) }))
      .filter((point) => CSV_FIELDS.some((field) => point[field] > 0))
      .map((point) => [point.at, name, ...CSV_FIELDS.map((field) => point[field])]),
  );
  return csv([["at", "workflow", ...CSV_FIELDS], ...lines]);
}

/** The usage of users, agents or models as CSV. */
export function listedCsv(title, { items }) {
  return csv([
    [title, ...FIELDS],
    ...items.map(({ name, now }) => [name ?? "", ...FIELDS.map((it) => now[it])]),
  ]);
}

/** The same step by step, one line for each step in which something was used. */
export function listedSeriesCsv(title, { items }) {
  const lines = items.flatMap(({ name, points = [] }) =>
    points
      .filter(({ usage }) => usage.calls > 0)
      .map(({ at, usage }) => [at, name ?? "", ...FIELDS.map((it) => usage[it])]),
  );
  return csv([["at", title, ...FIELDS], ...lines]);
}

function csv(lines) {
  return `${lines.map((line) => line.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** A text that a spreadsheet would take for a formula begins with an apostrophe. */
function cell(value) {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
