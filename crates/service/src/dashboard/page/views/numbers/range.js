// The range of time of the numbers: how it is chosen, and how it is read from the address.

import { h } from "../../dom.js";
import { SINCE } from "../../lists.js";
import { toNumbers } from "../../routes.js";
import { rangeOf } from "../../usage.js";
import { fromInput, toInput, zone } from "../../zone.js";

const RANGES = ["today", "day", "week", "month"];

/** Says why there is no such range; null if there is one. */
export function refused({ from, before }, now) {
  for (const [label, at] of Object.entries({ beginning: from, end: before })) {
    if (at && Number.isNaN(Date.parse(at))) return `The ${label} of the range, “${at}”, is no time.`;
  }
  if (from && before && Date.parse(before) <= Date.parse(from))
    return "The range ends before it begins. Choose an end after the beginning.";
  if (from && Date.parse(from) >= now) return "The range begins in the future.";
  return null;
}

/** Returns the range that the address names. */
export function chosenRange(given) {
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

/** Links to common ranges, and a form for any other. */
export function chooser(appId, given) {
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
