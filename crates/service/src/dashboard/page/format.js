// Formats numbers, amounts, durations and times for people. Null, for what was never counted, is a dash.

import { inZone } from "./zone.js";

export const NONE = "–";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const one = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const cents = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});

/** 1,234, then 1.2 M. */
export function count(number) {
  if (number === null || number === undefined) return NONE;
  for (const [size, unit] of [
    [1e12, "T"],
    [1e9, "B"],
    [1e6, "M"],
  ]) {
    // A number that rounds to 1,000 M is written as 1 B.
    if (number >= size * 0.99995) return `${one.format(number / size)} ${unit}`;
  }
  return whole.format(number);
}

/** 1 message, 2 messages. */
export function many(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Millionths of a dollar: $0.0123, $12.34, $1.2 M. */
export function money(micros) {
  if (micros === null || micros === undefined) return NONE;
  const dollars = micros / 1e6;
  if (micros === 0) return "$0";
  if (dollars >= 1e6) return `$${count(dollars)}`;
  if (dollars >= 1) return `$${cents.format(dollars)}`;
  return `$${dollars.toFixed(micros < 100 ? 6 : 4)}`;
}

/** The same without trailing zeros, for an axis. */
export function roundMoney(micros) {
  return money(micros).replace(/(\.\d\d)0+$/, "$1");
}

const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** 850 ms, 1.2 s, 3 min, 2.5 h, 4 d. */
export function duration(ms) {
  if (ms === null || ms === undefined) return NONE;
  for (const [size, unit] of UNITS) {
    if (ms >= size) return `${(ms / size < 10 ? one : whole).format(ms / size)} ${unit}`;
  }
  return `${whole.format(ms)} ms`;
}

export function seconds(sec) {
  return sec === null || sec === undefined ? NONE : duration(sec * 1000);
}

/** A ratio from 0 to 1, in percent. */
export function share(ratio) {
  return ratio === null || ratio === undefined ? NONE : `${one.format(ratio * 100)} %`;
}

const HOUR = { hour: "2-digit", minute: "2-digit" };
const DAY = { day: "numeric", month: "short" };
const hour = inZone(HOUR);
const day = inZone(DAY);
const dayAndHour = inZone({ ...DAY, ...HOUR });
const exact = inZone({ ...DAY, ...HOUR, second: "2-digit" });
const full = inZone({ ...DAY, year: "numeric", ...HOUR, second: "2-digit", timeZoneName: "short" });
// The days and months of a series are those in UTC.
const utc = {
  day: new Intl.DateTimeFormat("en-GB", { ...DAY, timeZone: "UTC" }),
  month: new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric", timeZone: "UTC" }),
};

/** The day of a point in a series, and its hour. */
export function tick(at, step) {
  if (step !== "hour") return { day: utc[step].format(new Date(at)), hour: null };
  return { day: day(at), hour: hour(at) };
}

/** The full time of a point in a series. */
export function point(at, step) {
  return step === "hour" ? dayAndHour(at) : utc[step].format(new Date(at));
}

/** 2 Oct, 10:00:05 */
export function instant(at) {
  return exact(at);
}

/** 2 Oct 2025, 10:00:05 UTC */
export function moment(at) {
  return full(at);
}

/** in 3 min; now, for times in the past. */
export function until(at) {
  const ms = Date.parse(at) - Date.now();
  return ms < 1_000 ? "now" : `in ${duration(ms)}`;
}

/** just now, 3 min ago. */
export function ago(at) {
  const ms = Date.now() - Date.parse(at);
  return ms < 5_000 ? "just now" : `${duration(ms < 60_000 ? ms - (ms % 1000) : ms)} ago`;
}
