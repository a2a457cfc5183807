import { h } from "../dom.js";
import { filtersOf, ordersOf, SINCE } from "../lists.js";
import { fromInput, toInput, zone } from "../zone.js";
import { STATUSES } from "./summary.js";

const ORDERS = { active: "last activity", created: "creation", title: "title" };
const LIFECYCLES = [
  ["", "active"],
  ["archived", "archived"],
  ["all", "active and archived"],
];
const CUSTOM = "custom";

/** The names of the filters, as people read them. */
const LABELS = {
  user_id: "user",
  workflow_name: "workflow",
  needs_input: "needs input",
  last_turn_outcome: "last turn failed",
};

/**
 * The filters of a list of chats. A filter with which the service has no list is disabled. `changed` is called with
 * the new parameters of the URL.
 */
export function filterBar(given, { orders, order, workflows }, changed) {
  const others = (name) => ordersOf({ ...filtersOf(given), [name]: "x" }).length > 0;
  const disabled = Object.keys(LABELS).filter((name) => !given[name] && !others(name));
  const isOff = (name) => disabled.includes(name);
  const onchange = (event) => changed(read(event.currentTarget, given));
  const onsubmit = (event) => {
    event.preventDefault();
    changed(read(event.currentTarget, given));
  };
  const isCustom = Boolean(given.from || given.before);
  return h(
    "form",
    { class: "filters", onchange, onsubmit, "aria-label": "Filters", "data-key": "filters" },
    select("status", "Status", [["", "any"], ...STATUSES.map((it) => [it, it])], given.status),
    input("user_id", "User", given, { disabled: isOff("user_id") }),
    input("workflow_name", "Workflow", given, {
      disabled: isOff("workflow_name"),
      list: "workflows",
    }),
    h(
      "datalist",
      { id: "workflows" },
      workflows.map((it) => h("option", { value: it })),
    ),
    select("since", "Time", times(), isCustom ? CUSTOM : (given.since ?? "")),
    isCustom && range(given),
    select("lifecycle", "Shown", LIFECYCLES, given.lifecycle ?? ""),
    orders.length > 1 &&
      select(
        "order_by",
        "Order",
        orders.map((it) => [it, ORDERS[it]]),
        order,
      ),
    check("needs_input", "true", given, isOff("needs_input")),
    check("last_turn_outcome", "failed", given, isOff("last_turn_outcome")),
    disabled.length > 0 && why(disabled),
  );
}

const times = () => [
  ["", "any time"],
  ...Object.entries(SINCE).map(([name, { label }]) => [name, label]),
  [CUSTOM, "from … to …"],
];

function why(disabled) {
  const names = disabled.map((name) => LABELS[name]).join(", ");
  const text = `The service has no list with these filters and: ${names}. Clear a filter to use them.`;
  return h("p", { class: "dim" }, text);
}

/** Returns the parameters of the URL that a form states. */
function read(form, given) {
  const next = Object.fromEntries(
    [...new FormData(form)].map(([key, value]) => [key, value.trim()]),
  );
  next.from = fromInput(next.from ?? "");
  next.before = fromInput(next.before ?? "");
  if (next.since !== CUSTOM) return { ...next, from: null, before: null };
  const from =
    next.from ?? given.from ?? SINCE[given.since ?? "today"].from(new Date()).toISOString();
  return { ...next, since: null, from };
}

function range(given) {
  const at = (name, label) =>
    field(
      label,
      h("input", {
        id: `filter-${name}`,
        name,
        type: "datetime-local",
        value: toInput(given[name]),
      }),
      `filter-${name}`,
    );
  return [at("from", `From (${zone.name()})`), at("before", "Before")];
}

function field(label, control, id) {
  return h("div", { class: "field", "data-key": id }, h("label", { for: id }, label), control);
}

function input(name, label, given, more) {
  const id = `filter-${name}`;
  const attributes = { id, name, value: given[name] ?? "", maxlength: "128", spellcheck: "false" };
  return field(label, h("input", { ...attributes, autocomplete: "off", ...more }), id);
}

function select(name, label, options, chosen) {
  const id = `filter-${name}`;
  const made = options.map(([value, text]) =>
    h("option", { value, selected: value === (chosen ?? "") }, text),
  );
  return field(label, h("select", { id, name }, made), id);
}

function check(name, value, given, disabled) {
  const id = `filter-${name}`;
  const box = h("input", {
    id,
    name,
    value,
    type: "checkbox",
    checked: given[name] === value,
    disabled,
  });
  return h("label", { class: "check", for: id, "data-key": id }, box, ` ${LABELS[name]}`);
}
