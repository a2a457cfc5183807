// The notice above all parts of a chat that says what failed last.

import { get, query } from "../../api.js";
import { h } from "../../dom.js";
import { name } from "../../parts/table.js";
import { toChat } from "../../routes.js";

/** Reads the unfinished steps of the last turn, for the notice above the view; null if it did not break off. */
export async function lastFailure(base, session, signal) {
  const turn = session.last_turn;
  if (!turn || turn.outcome === "completed") return null;
  const of = { request_id: turn.request_id, limit: 100 };
  const { data } = await get(query(`${base}/resume-points`, of), signal);
  return { turn, step: data.find(({ status }) => status === "failed") ?? data[0] ?? null };
}

/** What failed last, with a link to the turn, and unless it `isShort` with the error; null if nothing did. */
export function failureNotice(failure, session, { appId, chatId }, isShort) {
  const isFailed = session.status === "failed";
  if (!failure && !isFailed) return null;
  const key = failure?.turn.request_id;
  const href = toChat(appId, chatId, key ? { view: "turns", turn: key } : { view: "turns" });
  const step = failure?.step;
  const what = failure
    ? `The last turn ${failure.turn.outcome === "failed" ? "failed" : "was interrupted"}`
    : "The chat failed";
  const reason = step?.error ?? (isFailed ? session.status_reason : null);
  return h(
    "section",
    {
      class: `notice ${failure?.turn.outcome === "interrupted" && !isFailed ? "paused" : ""}`,
      "data-key": "failure",
      "aria-label": "Last failure",
    },
    h(
      "p",
      { class: "notice-head" },
      h("b", {}, what),
      step && [
        " in step ",
        String(step.sequence),
        " · ",
        h("code", {}, step.type),
        step.assistant_id && [" · ", name(step.assistant_id, "inline-name")],
      ],
      h("a", { href }, "Why?"),
    ),
    reason &&
      !isShort &&
      h(
        "pre",
        { class: "error", tabindex: "0", role: "region", "aria-label": "Error", dir: "auto" },
        reason,
      ),
  );
}
