import { h } from "../dom.js";
import { ago, moment, until } from "../format.js";
import { block, formatJson } from "./json.js";
import { problemText } from "./problem.js";

const READ_ONLY = "You may read this chat, but not answer.";

/**
 * A question that a workflow waits for, as a card. `answer` is called with the content of an
 * answer; it is null for those who may only read. If an answer was too late, `closed` is the
 * request that another answer had closed, and `dismiss` removes the card. `where` is shown beside
 * the question, if several chats have questions.
 */
export function question({ request, isSending, problem, closed }, { answer, dismiss }, where) {
  const { request_id: id, agent, prompt, kind, tool_call: call } = request;
  const { created_at: created, expires_at: expires } = request;
  return h(
    "section",
    { class: "panel question", "data-key": `question ${request.chat_id} ${id}` },
    h(
      "div",
      { class: "by" },
      h(
        "h2",
        { tabindex: "-1" },
        h("span", { class: "who", dir: "auto" }, agent ?? "The workflow"),
        " asks",
      ),
      h("span", { class: "role" }, kind),
      h(
        "span",
        { class: "when" },
        "asked ",
        h("time", { datetime: created, title: moment(created) }, ago(created)),
        expires && [
          " · expires ",
          h("time", { datetime: expires, title: moment(expires) }, until(expires)),
        ],
      ),
    ),
    where,
    h("p", { class: "words", dir: "auto" }, prompt),
    call && toolCall(call),
    ending(request, closed, { answer, dismiss }),
    isSending && h("p", { class: "dim" }, "Sending…"),
    problem && h("p", { class: "refusal", role: "alert" }, refusal(problem)),
  );
}

/** Returns how the question was closed, or the way to answer it. */
function ending(request, closed, { answer, dismiss }) {
  if (closed) return outcome(closed, dismiss);
  return answer ? form(request, answer) : h("p", { class: "dim" }, READ_ONLY);
}

function toolCall({ name, arguments: given }) {
  return h(
    "div",
    { class: "tool-call" },
    h("span", { class: "dim" }, "decides on a call of "),
    h("code", { dir: "auto" }, name),
    block(formatJson(given), {
      class: "wrapped",
      tabindex: "0",
      role: "region",
      "aria-label": "Arguments",
    }),
  );
}

function form({ kind, options }, answer) {
  if (kind === "choice")
    return buttons(
      options.map((option) => [option, option]),
      answer,
    );
  if (kind === "confirm") {
    return buttons(
      [
        ["Yes", true],
        ["No", false],
      ],
      answer,
    );
  }
  const onsubmit = (event) => {
    event.preventDefault();
    const content = new FormData(event.target).get("answer");
    if (content.trim() !== "") answer(content);
  };
  return h(
    "form",
    { class: "row", onsubmit },
    h("input", {
      name: "answer",
      "aria-label": "Answer",
      autocomplete: "off",
      dir: "auto",
      required: true,
    }),
    h("button", { type: "submit" }, "Answer"),
  );
}

function buttons(choices, answer) {
  return h(
    "div",
    { class: "row", role: "group", "aria-label": "Answer" },
    choices.map(([text, content]) =>
      h("button", { type: "button", dir: "auto", onclick: () => answer(content) }, text),
    ),
  );
}

/** Shows how the request was closed instead. */
function outcome({ state, answer, reason }, dismiss) {
  const text = {
    cancelled: "The question was cancelled.",
    expired: "The question has expired.",
    chat_ended: "The chat has ended.",
  }[state];
  return h(
    "div",
    { class: "row", role: "status" },
    answer
      ? h(
          "p",
          {},
          h("span", { class: "who", dir: "auto" }, answer.name),
          " answered first: ",
          h("span", { class: "reason", dir: "auto" }, plain(answer.content)),
        )
      : h("p", {}, text, " ", h("span", { class: "reason", dir: "auto" }, reason)),
    h("button", { type: "button", onclick: dismiss }, "Dismiss"),
  );
}

function plain(content) {
  if (typeof content === "boolean") return content ? "Yes" : "No";
  return typeof content === "string" ? content : formatJson(content);
}

function refusal(problem) {
  if (problem.status === 0)
    return "The service did not answer. Send the answer again: it is stored only once.";
  return problemText(problem);
}
