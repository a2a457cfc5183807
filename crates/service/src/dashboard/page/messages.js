// Reads the messages of a chat. This is the only module that knows how messages are delivered.

import { getExact, path, query } from "./api.js";
import { listen } from "./events.js";

const PAGE = 100;

const address = ({ appId, chatId }) => path`api/chats/${appId}/${chatId}/messages`;

/** Returns the newest messages, oldest first. */
export async function newest(chat, signal) {
  const page = await getExact(query(address(chat), { newest: PAGE }), signal);
  return page.data;
}

/** Returns the messages from one sequence up to, but without, another one. */
export async function range(chat, first, end, signal) {
  const found = [];
  for (let next = first; next < end;) {
    const wanted = { after: next - 1, limit: Math.min(PAGE, end - next) };
    const page = await getExact(query(address(chat), wanted), signal);
    found.push(...page.data);
    // A page of large messages ends early.
    if (page.data.length === 0 || page.next_cursor === null) break;
    next = page.data.at(-1).sequence + 1;
  }
  return found;
}

/**
 * Passes the events of a chat to the listener, in batches, with the names of docs/api/live.md: every message after
 * a sequence, once and in order, and every change. -1 is before the first message. See `listen`.
 */
export function follow({ appId, chatId }, after, listener) {
  return listen(query(path`api/chats/${appId}/${chatId}/events`, { after }), listener);
}
