// What the API tells about forks: the tree around a chat, and where two chats part.

import { get, path, query } from "../../api.js";

const PAGE = 100;
const MAX_ANCESTORS = 20;
/** The chats whose forks are asked for at once. */
const ASKED_AT_ONCE = 6;

/** The most chats of a tree that are shown. */
export const MAX_CHATS = 200;

/**
 * Returns the `chats` of the tree by id, its `root`, the source that the reader may not read as `lost`, and whether
 * there may be further forks.
 */
export async function forkTree({ appId, chatId }, signal) {
  let root = await get(path`api/chats/${appId}/${chatId}`, signal);
  const chats = new Map([[chatId, root]]);
  let lost = null;
  while (root.forked_from && chats.size < MAX_ANCESTORS) {
    try {
      root = await get(path`api/chats/${appId}/${root.forked_from.chat_id}`, signal);
    } catch (problem) {
      if (problem.status !== 404 && problem.status !== 403) throw problem;
      lost = root.forked_from;
      break;
    }
    chats.set(root.chat_id, root);
  }
  let isPartial = false;
  const open = [root];
  while (open.length > 0 && chats.size < MAX_CHATS) {
    const sources = open.splice(0, ASKED_AT_ONCE);
    const found = await Promise.all(sources.map((it) => forksOf(appId, it.chat_id, signal)));
    for (const { forks, hasMore } of found) {
      isPartial ||= hasMore;
      for (const fork of forks) chats.set(fork.chat_id, fork);
      open.push(...forks);
    }
  }
  return { root, chats, lost, isPartial: isPartial || open.length > 0 };
}

/** Returns the forks of a chat, oldest first. */
async function forksOf(appId, chatId, signal) {
  const list = { forked_from: chatId, order: "asc", lifecycle: "all", limit: PAGE };
  const { data, next_cursor } = await get(query(path`api/chats/${appId}`, list), signal);
  return { forks: data, hasMore: Boolean(next_cursor) };
}

/** Returns both chats, and the number of messages that they begin with alike. */
export async function commonBeginning({ appId, chatId }, other, signal) {
  const ids = [chatId, other];
  const read = (id) => get(path`api/chats/${appId}/${id}`, signal);
  const [here, there] = await Promise.all(ids.map(read));
  let [same, end] = [0, Math.min(here.last_sequence, there.last_sequence)];
  // A fork has the ids of the messages that it shares, so that a search by halves finds the last one.
  while (same < end) {
    const middle = Math.floor((same + end) / 2);
    const one = { after: middle - 1, limit: 1 };
    const messages = await Promise.all(
      ids.map((id) => get(query(path`api/chats/${appId}/${id}/messages`, one), signal)),
    );
    const [left, right] = messages.map(({ data }) => data[0]?.event_id);
    if (left === right) same = middle + 1;
    else end = middle;
  }
  return { here, there, same };
}
