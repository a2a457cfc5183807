// The arithmetic of the capacity page. Every coefficient is a row of a table on that page.

/** What was measured of processes, or is a limit; the page says where. */
export const SUBSCRIBER_BYTES = 17.1 * 1024;
export const CHAT_WITH_SUBSCRIBER_BYTES = 23.5 * 1024;
/** At most: the newest messages of a chat that has subscribers, in each process that they use. */
export const NEWEST_MESSAGES_BYTES = 512 * 1024;
export const PROCESS_BYTES = 50e6;
export const SUBSCRIBERS_PER_PROCESS = 8_000;
/** The default of `mongo.max_pool_size`. */
export const POOL = 64;
/** The default of `limits.memory_bytes`: what requests may take in a process. */
export const REQUESTS_BYTES = 512 * 2 ** 20;
const DAY_SECONDS = 86_400;

/** What a row of the table says of messages of a size, between the rows by a straight line. */
export function interpolated(rows, size, field) {
  const sorted = [...rows].sort((a, b) => a.size - b.size);
  let [low, high] = [sorted[0], sorted[1]];
  for (let index = 1; index < sorted.length - 1 && size > high.size; index += 1) {
    [low, high] = [sorted[index], sorted[index + 1]];
  }
  const slope = (high[field] - low[field]) / (high.size - low.size);
  return Math.max(0, low[field] + slope * (size - low.size));
}

/** What a load needs. All inputs are numbers; `rows` are the measured rows. */
export function capacity(rows, { chats, messages, size, days, subscribers, watched, peak, oplogHours }) {
  const perDay = chats * messages;
  const perSecond = (perDay / DAY_SECONDS) * peak;
  const per = (field) => interpolated(rows, size, field);
  const stored = perDay * days;
  const feeds = Math.min(subscribers, watched * processes(subscribers));
  // The busiest hours have at most all of a day.
  const busiest = Math.max(oplogHours / 24, Math.min(1, (oplogHours / 24) * peak));
  return {
    appendsPerSecond: perSecond,
    messagesDisk: stored * (per("disk") + per("indexes")),
    searchDisk: stored * per("search"),
    oplog: perDay * per("oplog") * busiest,
    oplogWithSearch: perDay * per("oplogSearch") * busiest,
    memory:
      (PROCESS_BYTES + REQUESTS_BYTES) * processes(subscribers) +
      subscribers * SUBSCRIBER_BYTES +
      feeds * (CHAT_WITH_SUBSCRIBER_BYTES + NEWEST_MESSAGES_BYTES),
    processes: processes(subscribers),
    connections: processes(subscribers) * POOL,
  };
}

/** Two, so that one may be replaced, or more if their subscribers do not fit into all but one. */
export function processes(subscribers) {
  return Math.max(2, Math.ceil(subscribers / SUBSCRIBERS_PER_PROCESS) + 1);
}

/** A number of bytes, in words. */
export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
}
