// Where the messages of a chat come from.

import { getExact, path, query } from "./api.js";
import { listen } from "./events.js";

const PAGE = 100;

/** Returns the newest messages before a sequence, oldest first; before none is the end of the chat. */
export async function newest({ appId, chatId }, before, signal) {
  const messages = path`api/chats/${appId}/${chatId}/messages`;
  const page = await getExact(query(messages, { newest: PAGE, before }), signal);
  return page.messages;
}

/**
 * Hands on what happens in a chat, in batches of events as API.md names them: every message after a
 * sequence once and in order, and what changes; after -1 is all of it. See `listen`.
 */
export function follow({ appId, chatId }, after, listener) {
  return listen(query(path`api/chats/${appId}/${chatId}/events`, { after }), listener);
}
