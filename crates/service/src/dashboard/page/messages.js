// Where the messages of a chat come from. The one place that knows they are polled for: a stream of
// events can take its place behind the same two functions.

import { getExact, path, query } from "./api.js";
import { poll } from "./poll.js";

const PAGE = 100;

/** Returns the newest messages before a sequence, oldest first; before none is the end of the chat. */
export async function newest(chat, before, signal) {
  const page = await read(chat, { newest: PAGE, before }, signal);
  return page.messages;
}

/**
 * Hands on the messages after a sequence, as they come, oldest first; after -1 is all of them.
 *
 * `received` is called with each batch, and with an empty one when it has been found that there is
 * nothing new; `failed` with the problem when that could not be found out.
 */
export function follow(chat, after, { signal, received, failed }) {
  let last = after;
  async function readOn() {
    let page;
    do {
      page = await read(chat, { after: last, limit: PAGE }, signal);
      last = page.messages.at(-1)?.sequence ?? last;
      received(page.messages);
    } while (page.has_more);
  }
  poll(readOn, { every: 2_000, signal, failed });
}

function read({ appId, chatId }, range, signal) {
  return getExact(query(path`api/chats/${appId}/${chatId}/messages`, range), signal);
}
