import { h } from "../../dom.js";
import { until } from "../../format.js";
import { time } from "../../parts/summary.js";
import { name } from "../../parts/table.js";
import { toChat } from "../../routes.js";
import { folded } from "./step.js";

const ACTIONS = {
  await_input: "Wait for the answer to a question.",
  retry: "Run the failed step again.",
  continue: "Continue where it was interrupted.",
  start: "Start a new turn: nothing is open.",
  nothing_to_do: "Nothing to do: the last turn or the chat is completed.",
};

const RETRY_UNKNOWN = "Run the last turn again: it is not known which of its steps failed.";

/** What an orchestrator would do now, and which worker holds the lease. */
export function planPanel(plan, session, { appId, chatId }) {
  const { action, step, next_speaker: speaker, pending_calls: calls, termination } = plan;
  const at = (sequence) =>
    h("a", { href: toChat(appId, chatId, { message: sequence }) }, `#${sequence}`);
  const fact = (label, ...value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
  return h(
    "section",
    { class: "panel plan", "data-key": "plan" },
    h("h2", {}, "What happens next"),
    h("p", {}, h("code", {}, action), " ", meaning(plan)),
    h(
      "dl",
      { class: "facts" },
      step && fact("Step", `${step.sequence}, `, h("code", {}, step.type)),
      speaker && fact("Next speaker", name(speaker)),
      plan.open_steps.length > 1 && fact("Open steps", String(plan.open_steps.length)),
      fact("Lease", ...lease(session.lease)),
      plan.must_reopen && fact("Chat", "has ended; it must be reopened before the next write"),
      termination && fact("Ends at", at(termination.sequence), name(termination.text)),
    ),
    calls.length > 0 &&
      h(
        "ul",
        { class: "pending-calls" },
        calls
          .slice(0, 20)
          .map((call) =>
            h(
              "li",
              {},
              "No result of ",
              h("code", { dir: "auto" }, call.name),
              call.speaker && [", called by ", h("bdi", {}, call.speaker)],
              " in ",
              at(call.sequence),
            ),
          ),
        calls.length > 20 && h("li", { class: "dim" }, `${calls.length - 20} more`),
      ),
    folded("Shared space before the next step", plan.space),
  );
}

/** A turn that failed without a known step is retried as a whole. */
function meaning({ action, step }) {
  if (action === "retry" && !step) return RETRY_UNKNOWN;
  return ACTIONS[action] ?? "";
}

function lease(held) {
  if (!held) return ["held by no worker"];
  return [
    name(held.owner),
    h("span", { class: "dim" }, "since "),
    time(held.acquired_at),
    h(
      "span",
      { class: "dim" },
      Date.parse(held.expires_at) < Date.now() ? "expired" : `expires ${until(held.expires_at)}`,
    ),
  ];
}
