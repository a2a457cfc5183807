import { h } from "../../dom.js";
import { instant, many, moment } from "../../format.js";
import { block, formatJson } from "../../parts/json.js";
import { name } from "../../parts/table.js";

const MAX_SHOWN = 20_000;

/** An unfinished step: its error, the calls that lead to it, and what it was given. */
export function stepCard(point, points, plan) {
  const isNext =
    plan?.step?.request_id === point.request_id && plan.step.sequence === point.sequence;
  return h(
    "section",
    {
      class: `step ${point.status}`,
      "data-key": `step ${point.sequence}`,
      "aria-label": `Step ${point.sequence}`,
    },
    h(
      "p",
      { class: "step-head" },
      h(
        "span",
        { class: `status ${point.status === "failed" ? "failed" : "paused"}` },
        `Step ${point.sequence} ${point.status}`,
      ),
      h("code", {}, point.type),
      point.assistant_id && name(point.assistant_id, "inline-name"),
      isNext && h("span", { class: "role" }, "runs next"),
      h(
        "time",
        { class: "dim", datetime: point.created_at, title: moment(point.created_at) },
        instant(point.created_at),
      ),
    ),
    point.error &&
      h(
        "pre",
        {
          class: "error",
          tabindex: "0",
          role: "region",
          "aria-label": `Error of step ${point.sequence}`,
          dir: "auto",
        },
        point.error,
      ),
    stack(isNext ? plan.step : null, point, points),
    folded("Input", point.input),
    folded("Output so far", point.output),
    folded("Shared space before the step", point.space_snapshot),
    folded("Metadata", point.metadata),
  );
}

/** The calls from the outermost one to that of the step. */
function stack(planned, point, points) {
  if (planned?.stack_error)
    return h("p", { class: "dim" }, `The call stack is incomplete: ${planned.stack_error}`);
  const ids = planned?.stack_path ?? pathOf(point, points);
  const label = (id) => points.find((it) => it.stack_id === id)?.assistant_id;
  return h(
    "div",
    { class: "stack" },
    h("span", { class: "dim" }, "Stack"),
    h(
      "ol",
      {},
      ids.map((id) =>
        h("li", { title: id, dir: "auto" }, h("code", {}, id), label(id) && ` ${label(id)}`),
      ),
    ),
  );
}

function pathOf(point, points) {
  const ids = [point.stack_id];
  let parent = point.stack_parent_id;
  while (parent && !ids.includes(parent)) {
    ids.unshift(parent);
    parent = points.find((it) => it.stack_id === parent)?.stack_parent_id ?? null;
  }
  return ids;
}

/** JSON that is shown on demand. */
export function folded(title, value) {
  if (value === null || value === undefined) return null;
  const text = formatJson(value);
  if (text === "{}") return null;
  const rest = text.length - MAX_SHOWN;
  return h(
    "details",
    { "data-key": title },
    h("summary", {}, title),
    block(text.slice(0, MAX_SHOWN), { class: "wrapped" }),
    rest > 0 && h("p", { class: "dim" }, `${many(rest, "more character")} not shown.`),
  );
}
