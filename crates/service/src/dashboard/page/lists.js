// Which lists of chats the service serves: docs/api/chats.md has the table. Others would be refused (422), so that
// the page does not offer them.

import { session } from "./api.js";
import { midnight } from "./zone.js";

const OF_PERSON = ["workflow_name", "user_id", "last_turn_outcome", "title_contains"];

/** By what a list is selected, how it may be ordered (the first one unless stated), and what may narrow it. */
const SERVED = [
  { by: ["needs_input"], orders: ["active"], also: ["workflow_name", "user_id"] },
  { by: ["user_id"], orders: ["active", "created", "title"], also: OF_PERSON },
  { by: ["title_contains"], orders: ["active"], also: [] },
  { by: ["title_contains"], orders: ["created"], also: OF_PERSON },
  { by: ["last_turn_outcome"], orders: ["active"], also: ["workflow_name"] },
  { by: ["workflow_name"], orders: ["active", "created"], also: [] },
  { by: [], orders: ["active", "created", "title"], also: [] },
];

/** The list of a person has few chats: it is served with more. */
const SERVED_TO_PERSON = [
  ...SERVED,
  { by: [], orders: ["active", "created", "title"], also: OF_PERSON },
];

/** Every list may have these. */
const ALWAYS = ["status", "lifecycle"];
const TIMES = ["from", "before"];

/** The beginnings of time ranges, by their names in the URL. */
export const SINCE = {
  hour: { label: "last hour", from: (now) => before(now, 3_600_000) },
  today: { label: "today", from: (now) => midnight(now) },
  day: { label: "last 24 hours", from: (now) => before(now, 86_400_000) },
  week: { label: "last 7 days", from: (now) => before(now, 7 * 86_400_000) },
  month: { label: "last 30 days", from: (now) => before(now, 30 * 86_400_000) },
};

const before = (now, ms) => new Date(now.getTime() - ms);

/** Returns the orders in which a list is served; none if it is not. */
export function ordersOf(filters) {
  const table = session.get()?.role === "user" ? SERVED_TO_PERSON : SERVED;
  const names = Object.keys(filters).filter((name) => filters[name] && !ALWAYS.includes(name));
  const times = names.some((name) => TIMES.includes(name));
  const selecting = names.filter((name) => !TIMES.includes(name));
  const orders = table
    .filter(({ by, also }) => {
      const isSelected = by.every((name) => selecting.includes(name));
      return isSelected && selecting.every((name) => by.includes(name) || also.includes(name));
    })
    .flatMap(({ orders: served }) => served)
    .filter((order) => !times || order !== "title");
  return [...new Set(orders)];
}

/** Returns the filters of a list of the API from those of the URL. */
export function filtersOf({ q: _, order_by: _order, since, ...given }) {
  const from = SINCE[since]?.from(new Date()).toISOString() ?? given.from;
  return { ...given, from };
}

/** Returns the parameters of a request for a list that is served in that order. */
export function parametersOf({ from, before: until, ...filters }, order) {
  const stated = Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
  return { ...stated, order_by: order, [`${order}_from`]: from, [`${order}_before`]: until };
}
