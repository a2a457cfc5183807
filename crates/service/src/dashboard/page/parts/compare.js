// Two texts side by side, line by line.

import { diffArrays } from "../vendor/diff.js";
import { h } from "../dom.js";
import { many } from "../format.js";

/** Unchanged lines farther from a change than this are left out. */
const CONTEXT = 3;
const MAX_ROWS = 2_000;
/** A comparison with more changes than this is given up, because it would take too long. */
const MAX_CHANGES = 4_000;

/** A table of the lines of two texts; `before` and `after` are `{label, text}`. */
export function compare(before, after) {
  const [old, next] = [before.text.split("\n"), after.text.split("\n")];
  const parts = diffArrays(old, next, { maxEditLength: MAX_CHANGES });
  if (!parts)
    return h("p", { class: "dim" }, "The two differ in too many places to be compared here.");
  const rows = shortened(pairs(parts));
  if (rows.every(({ kind }) => kind === "same" || kind === "gap")) {
    return h("p", { class: "dim" }, "Both are the same.");
  }
  const rest = rows.length - MAX_ROWS;
  const cell = (line, number, mark, kind) => [
    h("td", { class: "line-number" }, number ?? ""),
    h(
      "td",
      { class: `code ${line === null ? "none" : kind}` },
      line !== null && kind !== "" && h("span", { class: "only-heard" }, `${mark} `),
      line ?? "",
    ),
  ];
  return [
    h(
      "table",
      { class: "diff" },
      h("caption", { class: "only-heard" }, `${before.label} and ${after.label}`),
      h(
        "colgroup",
        {},
        [0, 1].map(() => [h("col", { class: "number-column" }), h("col")]),
      ),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col", colspan: 2 }, before.label),
          h("th", { scope: "col", colspan: 2 }, after.label),
        ),
      ),
      h(
        "tbody",
        {},
        rows
          .slice(0, MAX_ROWS)
          .map((row) =>
            row.kind === "gap"
              ? h(
                  "tr",
                  { class: "gap" },
                  h("td", { colspan: 4 }, many(row.lines, "equal line")),
                )
              : h(
                  "tr",
                  {},
                  cell(row.left, row.leftNumber, "removed:", row.kind === "same" ? "" : "removed"),
                  cell(row.right, row.rightNumber, "added:", row.kind === "same" ? "" : "added"),
                ),
          ),
      ),
    ),
    rest > 0 && h("p", { class: "dim" }, `${many(rest, "more line")} not shown.`),
  ];
}

/** Pairs each run of removed lines with the run of added lines that follows it. */
function pairs(parts) {
  const rows = [];
  let [left, right] = [1, 1];
  const push = (kind, old, next) =>
    rows.push({
      kind,
      left: old ?? null,
      right: next ?? null,
      leftNumber: old === undefined ? null : left++,
      rightNumber: next === undefined ? null : right++,
    });
  for (let index = 0; index < parts.length; index += 1) {
    const { value, added, removed } = parts[index];
    if (!added && !removed) {
      value.forEach((line) => push("same", line, line));
      continue;
    }
    const other = parts[index + 1];
    const isPair = removed && other?.added;
    const old = removed ? value : [];
    const next = isPair ? other.value : added ? value : [];
    for (let line = 0; line < Math.max(old.length, next.length); line += 1)
      push("changed", old[line], next[line]);
    if (isPair) index += 1;
  }
  return rows;
}

function shortened(rows) {
  const isNear = new Uint8Array(rows.length);
  rows.forEach(({ kind }, index) => {
    if (kind !== "same") isNear.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const short = [];
  rows.forEach((row, index) => {
    if (isNear[index]) return short.push(row);
    if (short.at(-1)?.kind === "gap") short.at(-1).lines += 1;
    else short.push({ kind: "gap", lines: 1 });
  });
  return short;
}
