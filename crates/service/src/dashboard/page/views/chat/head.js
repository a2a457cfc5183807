// The head of a chat: what it is, its numbers, and the links to its parts.

import { h } from "../../dom.js";
import { count, duration, money, seconds } from "../../format.js";
import { marks } from "../../parts/chat_list.js";
import { figures, status, time } from "../../parts/summary.js";
import { name } from "../../parts/table.js";
import { toChat } from "../../routes.js";

const PARTS = { messages: "Messages", turns: "Turns", context: "Context", forks: "Forks" };

export function facts(session) {
  const fact = (label, ...value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
  return h(
    "dl",
    { class: "facts", "data-key": "facts" },
    session.title && fact("Title", name(session.title)),
    fact(
      "Status",
      status(session.status),
      session.status_reason && [" ", name(session.status_reason, "reason")],
      marks(session),
    ),
    session.user_id && fact("User", name(session.user_id)),
    session.team_id && fact("Team", name(session.team_id)),
    fact("Visible to", session.visibility),
    fact("Started", time(session.created_at)),
    fact("Updated", time(session.last_updated_at)),
  );
}

/** The numbers of a chat; `usage` is empty until it is known, and null if it is hidden. */
export function numbers(session, usage) {
  const cost = usage && [
    ["Calls", count(usage.calls), `${duration(usage.duration_ms)} in all`],
    [
      "Tokens",
      count(usage.total_tokens),
      `${count(usage.prompt_tokens)} in, ${count(usage.completion_tokens)} out`,
    ],
    ["Cost", money(usage.cost_micros_usd)],
  ];
  return figures(
    ["Messages", count(session.last_sequence)],
    [
      "Duration",
      session.duration_sec ? seconds(session.duration_sec) : "–",
      hasEnded(session) ? null : "not ended",
    ],
    ...(cost ?? []),
  );
}

function hasEnded({ status: stands }) {
  return stands === "completed" || stands === "failed";
}

/** The links to the parts of a chat; `current` is shown. */
export function tabs(current, { appId, chatId }, session) {
  const isBroken = session.last_turn && session.last_turn.outcome !== "completed";
  return h(
    "nav",
    { class: "tabs", "aria-label": "Parts of this chat", "data-key": "tabs" },
    Object.entries(PARTS).map(([part, title]) =>
      h(
        "a",
        {
          href: toChat(appId, chatId, part === "messages" ? {} : { view: part }),
          "aria-current": part === current && "page",
        },
        title,
        part === "turns" &&
          isBroken &&
          h(
            "span",
            { class: `dot ${session.last_turn.outcome}` },
            h("span", { class: "only-heard" }, ` (last turn ${session.last_turn.outcome})`),
          ),
      ),
    ),
  );
}
