import { h } from "../dom.js";
import { count as counted } from "../format.js";

/** A list of those who are present; null if there are none. */
export function presentLine({ present, count }) {
  if (count === 0) return null;
  const rest = count - present.length;
  return h(
    "div",
    { class: "present", "data-key": "present" },
    h("span", { class: "dim", id: "present" }, "Here now"),
    h(
      "ul",
      { "aria-labelledby": "present" },
      present.map(({ user_id: userId, display_name: name }) =>
        h("li", { "data-key": userId, title: userId, dir: "auto" }, name ?? userId),
      ),
      rest > 0 && h("li", { class: "dim" }, `${counted(rest)} more`),
    ),
  );
}
