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

/**
 * Searches an app, or with `user` the chats of that user. Each kind is an array, or the problem because of which it was
 * not searched; null if the text fits none. A text that begins with the id of a user is also searched without it in the
 * chats of that user: `own` has those, with the `user` and the `text`.
 */
export async function find(appId, text, signal, user = null) {
  const searched = user ? nothing() : await everywhere(appId, text, signal);
  const own = user ? await ofUser(appId, user, text, signal) : await ofFirstWord(appId, text, signal);
  const found = [searched.ids, searched.users, searched.titles, own?.titles];
  const chats = found.flatMap((kind) => kind?.items ?? []);
  const known = new Map(chats.map((chat) => [chat.chat_id, chat]));
  const hits = [...searched.messages.items, ...(own?.messages.items ?? [])];
  const unknown = [...new Set(hits.map((it) => it.chat_id))].filter((id) => !known.has(id));
  // A hit does not say how its chat stands.
  const read = unknown.map((id) => attempt(true, () => get(path`api/chats/${appId}/${id}`, signal)));
  for (const chat of await Promise.all(read)) known.set(chat.chat_id, chat);
  return { ...searched, own, known };
}

const nothing = () => {
  const none = { items: [] };
  return { ids: none, users: none, titles: none, messages: none };
};

async function everywhere(appId, text, signal) {
  const [ids, users, titles, messages] = await Promise.all([
    attempt(ID.test(text), async () => ({
      items: [await get(path`api/chats/${appId}/${text}`, signal)],
    })),
    attempt(text.length <= 128, () => ofId(appId, text, SHOWN, signal)),
    attempt(isTitle(text), () => list(appId, { title_contains: text }, signal)),
    attempt(true, () => words(appId, { q: text }, signal)),
  ]);
  return { ids, users, titles, messages };
}

/** Searches the titles and the messages of the chats of a user. */
async function ofUser(appId, user, text, signal) {
  const [titles, messages] = await Promise.all([
    attempt(isTitle(text), () => list(appId, { user_id: user, title_contains: text }, signal)),
    attempt(true, () => words(appId, { q: text, user_id: user }, signal)),
  ]);
  return { user, text, titles, messages };
}

/** The same for a text that begins with the id of a user, perhaps in another case; null for any other text. */
async function ofFirstWord(appId, text, signal) {
  const [, word, rest] = /^(\S{1,128})\s+(\S.*)$/.exec(text) ?? [];
  if (!word) return null;
  const { user, items } = await attempt(true, () => ofId(appId, word, 1, signal));
  return items.length > 0 ? ofUser(appId, user, rest, signal) : null;
}

/** The chats of a user whose id was typed, perhaps in another case; `user` is the id. */
async function ofId(appId, typed, limit, signal) {
  const spellings = [...new Set([typed, typed.toLowerCase()])];
  const chats = await Promise.all(
    spellings.map((id) => attempt(true, () => list(appId, { user_id: id, limit }, signal))),
  );
  const index = Math.max(0, chats.findIndex(({ items }) => items.length > 0));
  return { ...chats[index], user: spellings[index] };
}

const isTitle = (text) => text.length >= 3 && text.length <= 64;

const list = (appId, parameters, signal) =>
  pages(path`api/chats/${appId}`, "data", 1, signal, {
    order_by: "active",
    limit: SHOWN,
    lifecycle: "all",
    ...parameters,
  });

const words = (appId, parameters, signal) =>
  pages(path`api/search/${appId}`, "data", 1, signal, { limit: SHOWN, ...parameters });

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
export function foundSections(appId, text, { ids, users, titles, messages, own, known }) {
  const lists = [
    ["Chat with this id", ids, null],
    own && [`Chats of user ${own.user} by title`, own.titles, null],
    [
      `Chats of user ${users.user}`,
      users,
      h(
        "a",
        { class: "all", href: toChats(appId, { user_id: users.user }) },
        "Filter the chats of this user",
      ),
    ],
    ["Chats by title", titles, null],
  ];
  const sections = lists
    .filter(Boolean)
    .filter(([, { items }]) => items.length > 0)
    .map(([title, { items }, more]) => [title, chatList(appId, items, title), more]);
  if (own) sections.push(...spoken(appId, `Messages in chats of user ${own.user}`, own.messages, known));
  sections.push(...spoken(appId, "Messages", messages, known));
  return sections;
}

/** The section of messages; none if none was found. */
function spoken(appId, title, messages, known) {
  if (messages.problem) {
    return [[title, h("p", { class: "dim" }, `Not searched: ${messages.problem.title}.`)]];
  }
  if (messages.items.length === 0) return [];
  return [[title, hits(appId, messages.items, known, title), remark(messages)]];
}

function remark({ first, hasMore }) {
  if (!first.partial && !hasMore) return null;
  return h(
    "p",
    { class: "dim" },
    "There may be more messages with these words. Add a word to narrow the search.",
  );
}

function hits(appId, messages, known, caption) {
  const key = (row) => `${row.chat_id} ${row.sequence}`;
  return table({
    caption,
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
