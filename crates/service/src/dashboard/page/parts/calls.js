// The calls of a chat: the newest are loaded for the table, older ones when a message names one of them.

import { newestFirst } from "../api.js";

/**
 * The calls of the chat at `base`. `found` is called when calls have been loaded that were asked for.
 * A reader who may not see what the chat costs has none: `areHidden` is then true.
 */
export function callLog(base, { signal, found }) {
  const list = newestFirst(`${base}/calls`, {
    keyOf: (call) => call.call_id,
    timeOf: (call) => Date.parse(call.called_at),
    signal,
  });
  /** The ids that messages name, until `found` has told that they are loaded. */
  const missing = new Set();
  /** The ids that the chat does not have. */
  const unknown = new Set();
  let isLoading = false;
  let refreshing = null;
  const log = {
    areHidden: false,
    usage: null,
    refresh,
    find,
    more: list.more,
    readBack,
    newest: list.newest,
    hasMore: list.hasMore,
    /** All calls after this time are loaded. */
    since: () => (log.areHidden ? -Infinity : list.since()),
  };

  /** Loads the newest calls again, because calls were recorded. */
  function refresh() {
    refreshing = readNewest().finally(() => (refreshing = null));
    return refreshing;
  }

  async function readNewest() {
    if (log.areHidden) return;
    try {
      log.usage = (await list.refresh()).usage;
      unknown.clear();
    } catch (problem) {
      if (problem.code !== "forbidden-permission") throw problem;
      Object.assign(log, { areHidden: true, usage: null });
    }
  }

  /** Loads older calls until all after a time are loaded, or `mostPages` have been read. */
  async function readBack(time, mostPages) {
    if (log.usage === null) await (refreshing ?? refresh());
    if (!log.areHidden) await list.readBack(time, mostPages);
  }

  /** Returns the call, or null and loads it. */
  function find(id) {
    if (list.has(id)) return list.get(id);
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
      const isLeft = () => [...missing].some((id) => !list.has(id));
      while (isLeft() && list.hasMore() && !log.areHidden) await list.more();
      const wanted = [...missing];
      missing.clear();
      wanted.filter((id) => !list.has(id)).forEach((id) => unknown.add(id));
      found(new Set(wanted.filter((id) => list.has(id))));
    } catch (problem) {
      // The messages are shown without these calls; the next one that is named tries again.
      if (!signal.aborted) missing.clear();
    }
    isLoading = false;
  }

  return log;
}
