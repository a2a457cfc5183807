import { pages, path } from "../api.js";
import { h } from "../dom.js";
import { many } from "../format.js";
import { answers } from "../parts/answers.js";
import { appNav } from "../parts/nav.js";
import { more, name, nameLink } from "../parts/table.js";
import { poll } from "../poll.js";
import { toApp, toApps, toChat, toInbox } from "../routes.js";
import { announce } from "../screen.js";

const ORDERS = [
  ["oldest", "Oldest first"],
  ["newest", "Newest first"],
];

/** Every pending question of an app that the user may see, to be answered here. */
export const inbox = {
  frame: ({ appId }) => ({
    title: "Inbox",
    crumbs: [
      ["Apps", toApps()],
      [appId, toApp(appId)],
    ],
  }),

  open(screen, { appId, given }, signal) {
    const order = given.order === "newest" ? "newest" : "oldest";
    /** The chats of the questions, by their ids, as far as they are listed. */
    let chats = new Map();
    const where = ({ chat_id: chatId }) => place(appId, chatId, chats.get(chatId));
    const cards = answers(appId, {
      signal,
      changed: () => screen.renew(),
      where,
      isNewestFirst: order === "newest",
    });
    let wanted = 1;
    const refresh = poll(load, { every: 5_000, signal, failed: (problem) => screen.fail(problem) });
    screen.onRetry(refresh);

    async function load() {
      const list = await pages(path`api/input-requests/${appId}`, "data", wanted, signal, {
        order,
        permissions: true,
      });
      const pending = new Set(list.items.map((it) => `${it.chat_id} ${it.request_id}`));
      cards.keep((it) => pending.has(`${it.chat_id} ${it.request_id}`));
      list.items.forEach(cards.ask);
      if (list.items.some((it) => !chats.has(it.chat_id))) chats = await asking(appId, wanted, signal);
      const further =
        list.hasMore &&
        more("questions", () => {
          wanted += 1;
          refresh();
        });
      screen.show(() => [
        appNav(appId, "inbox"),
        heading(appId, order, cards.pending(), list.hasMore),
        cards.elements(),
        further,
      ]);
      announce(waiting(cards.pending()));
    }
  },
};

/** Reads the chats that wait for an answer. */
async function asking(appId, wanted, signal) {
  const filters = { needs_input: true, order_by: "active", lifecycle: "all", limit: 100 };
  const { items } = await pages(path`api/chats/${appId}`, "data", wanted, signal, filters);
  return new Map(items.map((chat) => [chat.chat_id, chat]));
}

/** Where a question was asked: the chat by its title, if it has one, and whose it is. */
function place(appId, chatId, chat = {}) {
  const below = [chat.title && chatId, chat.user_id, chat.workflow_name].filter(Boolean).join(" · ");
  return h(
    "p",
    { class: "where" },
    h("span", { class: "dim" }, "in "),
    nameLink(chat.title ?? chatId, toChat(appId, chatId)),
    below && name(below, "name under"),
  );
}

const waiting = (number) =>
  number === 0
    ? "No question is pending"
    : many(number, "pending question");

function heading(appId, order, number, hasMore) {
  const link = ([named, text]) =>
    h(
      "a",
      { href: toInbox(appId, { order: named }), "aria-current": named === order && "true" },
      text,
    );
  return h(
    "div",
    { class: "between", "data-key": "heading" },
    h("p", {}, hasMore ? `The first ${waiting(number)}; there are more.` : `${waiting(number)}.`),
    number > 0 && h("nav", { class: "choice", "aria-label": "Order" }, ORDERS.map(link)),
  );
}
