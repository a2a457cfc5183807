// The totals of a range, and how they differ from those of the range before.

import { count, duration, money, share } from "../../format.js";
import { figures } from "../../parts/summary.js";

/** The average duration of a call; null without calls. */
export const average = ({ calls, duration_ms: all }) => (calls === 0 ? null : all / calls);

/** The totals, each with its change. */
export function totals({ now, past }) {
  const item = (label, format, of) => [label, format(of(now)), changed(of(now), past && of(past))];
  return figures(
    item("Cost", money, (it) => it.cost_micros_usd),
    item("Tokens", count, (it) => it.total_tokens),
    item("Calls", count, (it) => it.calls),
    item("Chats started", count, (it) => it.starts),
    item("Failures", count, (it) => it.failures),
    item("Average call", (ms) => duration(ms && Math.round(ms)), average),
  );
}

/** How a number has changed: +12 %, or "none before". */
export function changed(now, past) {
  if (past === null || past === undefined || now === null) return "no comparison";
  if (past === 0) return now === 0 ? "as before" : "none before";
  const ratio = now / past - 1;
  if (Math.abs(ratio) < 0.0005) return "as before";
  return `${ratio > 0 ? "+" : "−"}${share(Math.abs(ratio))}`;
}
