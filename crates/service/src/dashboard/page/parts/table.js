import { h } from "../dom.js";

/**
 * A table. A column is `{title, cell, kind}`: `cell` returns the content for a row; `kind` is "text",
 * "number", or "rest" for a number that narrow screens omit. The first column names the row.
 */
export function table({ caption, columns, rows, key }) {
  const head = columns.map(({ title, kind }) => h("th", { scope: "col", class: kind }, title));
  const line = (row) =>
    columns.map(({ cell, kind }, index) =>
      index === 0
        ? h("th", { scope: "row", class: kind }, cell(row))
        : h("td", { class: kind }, cell(row)),
    );
  return h(
    "table",
    {},
    h("caption", { class: "only-heard" }, caption),
    h("thead", {}, h("tr", {}, head)),
    h(
      "tbody",
      {},
      rows.map((row) => h("tr", { "data-key": key(row) }, line(row))),
    ),
  );
}

/** A section with a heading. */
export function section(title, ...children) {
  return h(
    "section",
    { class: "panel", "data-key": `section ${title}` },
    h("h2", {}, title),
    children,
  );
}

/** A name of any length: truncated if it does not fit, shown in full on hovering. */
export function name(text, className = "name") {
  return h("span", { class: className, title: text, dir: "auto" }, text);
}

export function nameLink(text, href) {
  return h("a", { class: "name", href, title: text, dir: "auto" }, text);
}

/** The button that requests a further page. */
export function more(what, onclick) {
  return h("button", { type: "button", class: "more", onclick }, `More ${what}`);
}
