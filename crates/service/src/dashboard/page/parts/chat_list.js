import { h } from "../dom.js";
import { toChat } from "../routes.js";
import { status, time } from "./summary.js";
import { name, nameLink, table } from "./table.js";

/** A list of chat sessions. */
export function chatList(appId, chats, caption = "Chats") {
  return table({
    caption,
    rows: chats,
    key: (row) => row.chat_id,
    columns: [
      { title: "Chat", kind: "text", cell: (row) => chatName(appId, row) },
      { title: "Status", kind: "wide", cell: (row) => status(row.status) },
      { title: "User", kind: "rest left", cell: (row) => shortName(row.user_id) },
      { title: "Last speaker", kind: "rest left", cell: (row) => shortName(row.last_speaker) },
      {
        title: "Active",
        kind: "number",
        cell: (row) => time(row.last_message_at ?? row.created_at),
      },
    ],
  });
}

/** The link to a chat, by its title if it has one, with what to know of it below. */
function chatName(appId, chat) {
  const below = [chat.title && chat.chat_id, chat.workflow_name].filter(Boolean).join(" · ");
  return [
    nameLink(chat.title ?? chat.chat_id, toChat(appId, chat.chat_id)),
    h(
      "span",
      { class: "name-row" },
      h("span", { class: "narrow" }, status(chat.status)),
      marks(chat),
      below && name(below, "name under"),
    ),
  ];
}

/** What to know of a chat at once: that its last turn failed, that it waits for an answer, that it is put aside. */
export function marks(chat) {
  const outcome = chat.last_turn?.outcome;
  return [
    outcome === "failed" && h("span", { class: "mark failed" }, "last turn failed"),
    chat.pending_inputs?.length > 0 && h("span", { class: "mark" }, "needs input"),
    chat.lifecycle === "archived" && h("span", { class: "mark" }, "archived"),
  ];
}

function shortName(text) {
  return text ? name(text, "name short") : "–";
}
