// Reads the messages of a chat. This is the only module that knows how messages are delivered.

import { getExact, path, query } from "./api.js";
import { listen } from "./events.js";

const PAGE = 100;

/** Returns the newest messages before a sequence, oldest first; without one, those at the end of the chat. */
export async function newest({ appId, chatId }, before, signal) {
  const messages = path`api/chats/${appId}/${chatId}/messages`;
  const page = await getExact(query(messages, { newest: PAGE, before }), signal);
  return page.data;
}

/**
 * Passes the events of a chat to the listener, in batches, with the names of docs/API.md: every message after
 * a sequence, once and in order, and every change. -1 is before the first message. See `listen`.
 */
export function follow({ appId, chatId }, after, listener) {
  return listen(query(path`api/chats/${appId}/${chatId}/events`, { after }), listener);
}
