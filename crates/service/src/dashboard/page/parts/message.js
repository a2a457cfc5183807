import { h } from "../dom.js";
import { instant, moment } from "../format.js";
import { block, formatJson } from "./json.js";

/** Text longer than this is folded. */
const MAX_UNFOLDED = 1_200;

// The fields that are displayed; all other fields of a message are shown below it as JSON.
const DISPLAYED = new Set([
  "sequence",
  "event_id",
  "role",
  "name",
  "content",
  "timestamp",
  "created_at",
  "edited_at",
  "edited_by",
  "deleted_at",
  "deleted_by",
  "tool_calls",
]);

/** A message, as a list item. */
export function message(it) {
  const speaker = it.name ?? it.role;
  return h(
    "li",
    { class: `message ${roleClass(it.role)}`, "data-sequence": it.sequence, tabindex: "-1" },
    h(
      "div",
      { class: "by" },
      h("span", { class: "who", title: speaker, dir: "auto" }, speaker),
      it.name &&
        it.name !== it.role &&
        h("span", { class: "role", title: it.role, dir: "auto" }, it.role),
      it.edited_at && h("span", { class: "role" }, "edited"),
      h(
        "span",
        { class: "when" },
        `#${it.sequence} `,
        h(
          "time",
          { datetime: it.created_at, title: moment(it.created_at) },
          instant(it.created_at),
        ),
      ),
    ),
    it.deleted_at ? h("p", { class: "dim" }, "Deleted.") : said(it),
  );
}

function roleClass(role) {
  return ["user", "assistant", "system", "tool"].includes(role) ? role : "other";
}

function said(it) {
  const rest = Object.fromEntries(Object.entries(it).filter(([key]) => !DISPLAYED.has(key)));
  return [
    content(it.content),
    Array.isArray(it.tool_calls) && it.tool_calls.map(toolCall),
    Object.keys(rest).length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, "More: ", h("span", { dir: "auto" }, Object.keys(rest).join(", "))),
        json(rest),
      ),
  ];
}

function content(value) {
  if (value === null || value === undefined || value === "") return null;
  if (typeof value !== "string") return json(value);
  const text = h("p", { class: "words", dir: "auto" }, value);
  return value.length > MAX_UNFOLDED || value.split("\n").length > 16 ? folded(text) : text;
}

function toolCall(call) {
  const { name, arguments: given } = call?.function ?? {};
  return h(
    "div",
    { class: "tool-call" },
    h("span", { class: "dim" }, "calls "),
    h("code", { dir: "auto" }, typeof name === "string" ? name : "a tool"),
    json(given),
  );
}

function json(value) {
  if (value === null || value === undefined) return null;
  const text = typeof value === "string" ? value : formatJson(value);
  const shown = block(text, { class: "wrapped" });
  return text.length > MAX_UNFOLDED ? folded(shown) : shown;
}

function folded(element) {
  element.classList.add("folded");
  const unfold = h(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-expanded": "false",
      onclick: () => {
        const isFolded = element.classList.toggle("folded");
        unfold.textContent = isFolded ? "Show all" : "Show less";
        unfold.setAttribute("aria-expanded", String(!isFolded));
      },
    },
    "Show all",
  );
  return [element, unfold];
}
