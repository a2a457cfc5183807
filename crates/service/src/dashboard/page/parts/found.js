// What a search finds in an app: chats by id, by user and by title, and messages by their words.

import { get, pages, path } from "../api.js";
import { h } from "../dom.js";
import { toChat, toChats } from "../routes.js";
import { chatList, marks } from "./chat_list.js";
import { time } from "./summary.js";
import { name, nameLink, table } from "./table.js";

/** How many chats and messages of each kind are shown. */
const SHOWN = 20;
const ID = /^[A-Za-z0-9_.:-]{1,128}$/;

/** Searches an app. Each kind is an array, or the problem because of which it was not searched; null if the text fits none. */
export async function find(appId, text, signal) {
  const base = path`api/chats/${appId}`;
  const isName = text.length <= 128;
  const list = (parameters) =>
    pages(base, "data", 1, signal, {
      order_by: "active",
      limit: SHOWN,
      lifecycle: "all",
      ...parameters,
    });
  const [ids, users, titles, messages] = await Promise.all([
    attempt(ID.test(text), async () => ({
      items: [await get(path`api/chats/${appId}/${text}`, signal)],
    })),
    attempt(isName, () => list({ user_id: text })),
    attempt(text.length >= 3 && text.length <= 64, () => list({ title_contains: text })),
    attempt(true, () =>
      pages(path`api/search/${appId}`, "data", 1, signal, { q: text, limit: SHOWN }),
    ),
  ]);
  const found = [ids, users, titles].flatMap(({ items }) => items);
  const known = new Map(found.map((chat) => [chat.chat_id, chat]));
  const unknown = [...new Set(messages.items.map((it) => it.chat_id))].filter(
    (id) => !known.has(id),
  );
  // A hit does not say how its chat stands.
  const read = unknown.map((id) =>
    attempt(true, () => get(path`api/chats/${appId}/${id}`, signal)),
  );
  for (const chat of await Promise.all(read)) known.set(chat.chat_id, chat);
  return { ids, users, titles, messages, known };
}

/** Returns what was found; a kind that cannot be searched must not hide the others. */
async function attempt(isPossible, work) {
  if (!isPossible) return { items: [] };
  try {
    return await work();
  } catch (problem) {
    if (problem.code === "chat-not-found" || problem.status === 422) return { items: [] };
    if (["no-search", "upgrade-pending"].includes(problem.code)) return { items: [], problem };
    throw problem;
  }
}

/** The sections of what was found: pairs of a heading and its content. */
export function foundSections(appId, text, { ids, users, titles, messages, known }) {
  const lists = [
    ["Chat with this id", ids, null],
    [
      `Chats of user ${text}`,
      users,
      h(
        "a",
        { class: "all", href: toChats(appId, { user_id: text }) },
        "Filter the chats of this user",
      ),
    ],
    ["Chats by title", titles, null],
  ];
  const sections = lists
    .filter(([, { items }]) => items.length > 0)
    .map(([title, { items }, more]) => [title, chatList(appId, items, title), more]);
  if (messages.items.length > 0) {
    sections.push(["Messages", hits(appId, messages.items, known), remark(messages)]);
  }
  if (messages.problem) {
    sections.push([
      "Messages",
      h("p", { class: "dim" }, `Not searched: ${messages.problem.title}.`),
    ]);
  }
  return sections;
}

function remark({ first, hasMore }) {
  if (!first.partial && !hasMore) return null;
  return h(
    "p",
    { class: "dim" },
    "There may be more messages with these words. Add a word to narrow the search.",
  );
}

function hits(appId, messages, known) {
  const key = (row) => `${row.chat_id} ${row.sequence}`;
  return table({
    caption: "Messages",
    rows: messages,
    key,
    columns: [
      {
        title: "Message",
        kind: "text",
        cell: (row) => [
          nameLink(row.title ?? row.chat_id, toChat(appId, row.chat_id, { message: row.sequence })),
          h("span", { class: "snippet", dir: "auto" }, highlighted(row)),
          h("span", { class: "name-row" }, marks(known.get(row.chat_id) ?? {})),
        ],
      },
      { title: "By", kind: "rest left", cell: (row) => name(row.name ?? row.role, "name short") },
      { title: "Written", kind: "number", cell: (row) => time(row.created_at) },
    ],
  });
}

/** The snippet, with the words that were found. Positions count characters, not UTF-16 units. */
function highlighted({ snippet, positions }) {
  const letters = [...snippet];
  const text = (from, to) => letters.slice(from, to).join("");
  let at = 0;
  const parts = positions.flatMap(([from, to]) => {
    const both = [text(at, from), h("mark", {}, text(from, to))];
    at = to;
    return both;
  });
  return [...parts, text(at)];
}
