// What the API tells about forks: the tree around a chat, and where two chats part.

import { get, pages, path, query } from "../../api.js";

const PAGE = 100;
const MAX_PAGES = 10;
const MAX_ANCESTORS = 20;

/** The API lists no forks of a chat: they are looked for among this many chats of the workflow. */
export const MAX_SEARCHED = PAGE * MAX_PAGES;

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
  const list = {
    workflow_name: root.workflow_name,
    created_from: root.created_at,
    lifecycle: "all",
    limit: PAGE,
  };
  const found = await pages(query(path`api/chats/${appId}`, list), "data", MAX_PAGES, signal);
  // Oldest first: a fork is younger than its source.
  for (const it of found.items.toReversed()) {
    if (it.forked_from && chats.has(it.forked_from.chat_id)) chats.set(it.chat_id, it);
  }
  return { root, chats, lost, isPartial: found.hasMore };
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
