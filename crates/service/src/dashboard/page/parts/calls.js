// The calls of a chat: the newest are loaded for the table, older ones when a message names one of them.

import { get, query } from "../api.js";

const PAGE = 100;

/**
 * The calls of the chat at `base`. `found` is called when calls have been loaded that were asked for.
 * A reader who may not see what the chat costs has none: `areHidden` is then true.
 */
export function callLog(base, { signal, found }) {
  const byId = new Map();
  /** The ids that messages name, until `found` has told that they are loaded. */
  const missing = new Set();
  /** The ids that the chat does not have. */
  const unknown = new Set();
  let cursor = null;
  let isComplete = false;
  let isLoading = false;
  let refreshing = null;
  const log = {
    areHidden: false,
    usage: null,
    refresh,
    find,
    more,
    newest,
    hasMore: () => !isComplete,
  };

  /** Loads the newest calls again, because calls were recorded. */
  function refresh() {
    refreshing = readNewest().finally(() => (refreshing = null));
    return refreshing;
  }

  async function readNewest() {
    if (log.areHidden) return;
    try {
      const page = await get(query(`${base}/calls`, { limit: PAGE }), signal);
      log.usage = page.usage;
      // Without an overlap there may be calls between these and the older ones.
      if (!page.data.some((call) => byId.has(call.call_id))) {
        byId.clear();
        cursor = page.next_cursor;
        isComplete = cursor === null;
      }
      keep(page.data);
      unknown.clear();
    } catch (problem) {
      if (problem.code !== "forbidden-permission") throw problem;
      Object.assign(log, { areHidden: true, usage: null });
    }
  }

  function keep(calls) {
    for (const call of calls) byId.set(call.call_id, call);
  }

  /** Returns the call, or null and loads it. */
  function find(id) {
    if (byId.has(id)) return byId.get(id);
    if (!log.areHidden && !unknown.has(id)) {
      missing.add(id);
      load();
    }
    return null;
  }

  async function load() {
    if (isLoading) return;
    isLoading = true;
    try {
      // All messages that are being rendered name their calls first.
      await new Promise((resolve) => setTimeout(resolve));
      if (log.usage === null) await (refreshing ?? refresh());
      const isLeft = () => [...missing].some((id) => !byId.has(id));
      while (isLeft() && !isComplete && !log.areHidden) await more();
      const wanted = [...missing];
      missing.clear();
      wanted.filter((id) => !byId.has(id)).forEach((id) => unknown.add(id));
      found(new Set(wanted.filter((id) => byId.has(id))));
    } catch (problem) {
      // The messages are shown without these calls; the next one that is named tries again.
      if (!signal.aborted) missing.clear();
    }
    isLoading = false;
  }

  /** Loads a page of older calls. */
  async function more() {
    const page = await get(query(`${base}/calls`, { limit: PAGE, cursor }), signal);
    cursor = page.next_cursor;
    isComplete = cursor === null;
    keep(page.data);
  }

  /** Returns the loaded calls, newest first. */
  function newest() {
    return [...byId.values()].sort((a, b) => Date.parse(b.called_at) - Date.parse(a.called_at));
  }

  return log;
}
