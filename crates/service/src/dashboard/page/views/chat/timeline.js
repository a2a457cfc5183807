import { h } from "../../dom.js";
import { count, duration, many, money } from "../../format.js";
import { toChat } from "../../routes.js";
import { folded } from "./step.js";

const KINDS = { call: "Model call", tool: "Tool", wait: "Waiting" };
const MAX_ROWS = 300;
const MAX_LABEL = 160;

/** The calls, tools and questions of a turn, each as a bar on the time of the turn. */
export function timeline(turn, chat) {
  if (turn.items.length === 0) {
    const reason = turn.isPartial
      ? "The calls and tool runs of this turn are older than those that are counted."
      : "No calls, tools or questions are recorded for this turn.";
    return h("p", { class: "dim" }, reason);
  }
  const rest = turn.items.length - MAX_ROWS;
  return [
    h(
      "ol",
      { class: "timeline", "aria-label": "Steps of the turn" },
      shownOf(turn.items).map((item) => row(item, turn, chat)),
    ),
    rest > 0 && h("p", { class: "dim" }, `${many(rest, "more step")} not shown.`),
  ];
}

/** The first items in order; what failed comes before the others if there is no room for all. */
function shownOf(items) {
  if (items.length <= MAX_ROWS) return items;
  const failedFirst = new Set([...items.filter((it) => it.isFailed), ...items]);
  const shown = new Set([...failedFirst].slice(0, MAX_ROWS));
  return items.filter((it) => shown.has(it));
}

function row(item, turn, chat) {
  const label = item.label.slice(0, MAX_LABEL);
  return h(
    "li",
    {
      class: `item ${item.kind} ${item.isFailed ? "failed" : ""} ${item.isOpen ? "open" : ""}`,
      "data-key": item.key,
    },
    h("span", { class: "kind" }, KINDS[item.kind]),
    h(
      "span",
      { class: "what" },
      h("span", { class: "name", title: label, dir: "auto" }, label),
      item.who && h("span", { class: "name under", title: item.who, dir: "auto" }, item.who),
    ),
    h("span", { class: "track", "aria-hidden": "true" }, bar(item, turn)),
    h(
      "span",
      { class: "took" },
      took(item),
      h("small", {}, `+${duration(item.start - turn.start)}`),
    ),
    item.error && h("pre", { class: "error", dir: "auto" }, item.error),
    details(item, chat),
  );
}

function bar({ start, end }, turn) {
  const whole = Math.max(turn.end - turn.start, 1);
  const element = h("span", { class: "span" });
  element.style.insetInlineStart = `${Math.min(((start - turn.start) / whole) * 100, 99)}%`;
  element.style.width = `${((end - start) / whole) * 100}%`;
  return element;
}

function took(item) {
  if (item.kind === "wait") return `${item.question.state}, ${duration(item.end - item.start)}`;
  if (item.isOpen) return "no result";
  if (item.isFailed) return `failed, ${duration(item.end - item.start)}`;
  return item.end > item.start ? duration(item.end - item.start) : "–";
}

function details({ call, run, question, sequence }, { appId, chatId }) {
  const link = (to) =>
    h("p", {}, h("a", { href: toChat(appId, chatId, { message: to }) }, `Message #${to}`));
  if (call) {
    const tokens = `${count(call.prompt_tokens)} in, ${count(call.completion_tokens)} out`;
    return h("p", { class: "dim" }, `${tokens} · ${money(call.cost_micros_usd)}`);
  }
  if (run) return h("div", {}, folded("Parameters", run.parameters), folded("Result", run.result));
  if (question) {
    const answer = question.answer;
    return answer
      ? h(
          "p",
          { class: "dim" },
          "Answer: ",
          h("bdi", {}, String(answer.content).slice(0, MAX_LABEL)),
        )
      : null;
  }
  return sequence === undefined ? null : link(sequence);
}
