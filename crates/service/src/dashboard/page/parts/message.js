import { h } from "../dom.js";
import { ago, count, duration, instant, many, moment, money } from "../format.js";
import { content, json, reasoning } from "./content.js";
import { results, toolCall, toolCalls } from "./tool_calls.js";

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
  "function_call",
  "refusal",
  "reasoning_content",
  "produced_by_call_id",
  "request_id",
]);

const ALONE = { call: () => null, result: () => null, caller: () => null };

/**
 * A message. `known` says what belongs to it: `address(sequence)`, `forkAddress(sequence)` and `turnAddress(id)` are links,
 * `call(id)` is the model call that produced it, `result(id, sequence)` the result of a tool call after a
 * message, `caller(id, sequence)` the call whose result a message is. All of them may be missing.
 */
export function message(it, known = {}) {
  const speaker = it.name ?? it.role;
  const about = { ...ALONE, ...known };
  return h(
    "article",
    {
      class: `message ${roleClass(it.role)}`,
      "data-sequence": it.sequence,
      tabindex: "-1",
      "aria-label": `Message ${it.sequence} of ${speaker}`,
    },
    h(
      "div",
      { class: "by" },
      h("span", { class: "who", title: speaker, dir: "auto" }, speaker),
      it.name &&
        it.name !== it.role &&
        h("span", { class: "role", title: it.role, dir: "auto" }, it.role),
      changed(it),
      it.produced_by_call_id && callChip(about.call(it.produced_by_call_id)),
      h(
        "span",
        { class: "when" },
        about.address
          ? h(
              "a",
              {
                href: about.address(it.sequence),
                class: "to-message",
                title: "Link to this message",
              },
              `#${it.sequence}`,
            )
          : `#${it.sequence}`,
        " ",
        h(
          "time",
          { datetime: it.created_at, title: moment(it.created_at) },
          instant(it.created_at),
        ),
        about.turnAddress &&
          it.request_id && [" ", h("a", { href: about.turnAddress(it.request_id) }, "Turn")],
        about.forkAddress && [
          " ",
          h(
            "a",
            {
              href: about.forkAddress(it.sequence),
              "aria-label": `Fork from message ${it.sequence}`,
            },
            "Fork",
          ),
        ],
      ),
    ),
    it.deleted_at ? h("p", { class: "dim" }, "Deleted.") : said(it, about),
  );
}

function roleClass(role) {
  return ["user", "assistant", "system", "tool"].includes(role) ? role : "other";
}

/** Whether the message was edited or deleted, when, and by whom. */
function changed({
  edited_at: edited,
  edited_by: editor,
  deleted_at: deleted,
  deleted_by: remover,
}) {
  const at = deleted ?? edited;
  if (!at) return null;
  const by = deleted ? remover : editor;
  const text = `${deleted ? "deleted" : "edited"}${by ? ` by ${by}` : ""}`;
  return h(
    "span",
    { class: "role", title: `${text}, ${moment(at)} (${ago(at)})`, dir: "auto" },
    text,
  );
}

/** The model call that produced a message: model, tokens, cost and time. */
function callChip(call) {
  if (!call) return null;
  const model = call.model ?? call.requested_model ?? "unknown model";
  const figures = [
    many(call.total_tokens, "token"),
    money(call.cost_micros_usd),
    duration(call.duration_ms),
  ].join(" · ");
  return h(
    "span",
    {
      class: "call-chip",
      title: `${model}: ${count(call.prompt_tokens)} in, ${count(call.completion_tokens)} out`,
    },
    h("bdi", {}, model),
    ` · ${figures}`,
  );
}

function said(it, about) {
  const answered = results(it);
  const callers = answered.map(({ id }) => about.caller(id, it.sequence));
  // The result is shown with its call, so that here it may stay folded.
  const isFolded = it.role === "tool" && callers.length > 0 && callers.every(Boolean);
  const isPlain = it.role === "tool";
  const hasContent = it.content !== null && it.content !== undefined && it.content !== "";
  const shown = new Set(DISPLAYED);
  if (!hasContent) shown.add("content_blocks");
  if (isFolded)
    ["tool_call_id", "tool_responses", "tool_error"].forEach((field) => shown.add(field));
  const rest = Object.fromEntries(
    Object.entries(it).filter(([key, value]) => !shown.has(key) && value !== null),
  );
  return [
    it.reasoning_content && reasoning(it.reasoning_content),
    isFolded
      ? result(it, callers, answered)
      : content(hasContent ? it.content : blocks(it), isPlain),
    it.refusal && h("p", { class: "refusal", dir: "auto" }, `Refused: ${it.refusal}`),
    toolCalls(it).map((call) =>
      toolCall(call, call.id === null ? null : about.result(call.id, it.sequence)),
    ),
    Object.keys(rest).length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, "More: ", h("span", { dir: "auto" }, Object.keys(rest).join(", "))),
        json(rest),
      ),
  ];
}

/** The blocks of a message without content; its calls are shown from `tool_calls`. */
function blocks({ content_blocks: all }) {
  return Array.isArray(all) ? all.filter((it) => it?.type !== "tool_use") : all;
}

function result(it, callers, answered) {
  const isFailed = answered.some(({ error }) => error);
  const names = callers.map(({ name }) => name).join(", ");
  return h(
    "details",
    { class: `tool-call ${isFailed ? "failed" : ""}` },
    h(
      "summary",
      {},
      h("span", { class: "dim" }, isFailed ? "error of " : "result of "),
      h("code", { dir: "auto" }, names),
    ),
    content(it.content, true),
    it.tool_responses && json(it.tool_responses),
    it.tool_error && json(it.tool_error),
  );
}
