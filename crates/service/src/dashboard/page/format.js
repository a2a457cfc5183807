// Formats numbers, amounts, durations and times for people. Null, for what was never counted, is a dash.

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

const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const localDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
// The days of a series are days in UTC.
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const exact = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const both = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** The label of a point in a series. */
export function tick(at, step) {
  return (step === "day" ? day : hour).format(new Date(at));
}

/** The full time of a point in a series. */
export function point(at, step) {
  const date = new Date(at);
  return step === "day" ? day.format(date) : `${localDay.format(date)}, ${hour.format(date)}`;
}

/** 2 Oct, 10:00:05 */
export function instant(at) {
  return `${localDay.format(new Date(at))}, ${exact.format(new Date(at))}`;
}

export function moment(at) {
  return both.format(new Date(at));
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
