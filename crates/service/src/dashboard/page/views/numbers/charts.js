// The numbers of a range hour by hour, or day by day.

import { h } from "../../dom.js";
import { count, duration, money, roundMoney } from "../../format.js";
import { chart } from "../../parts/chart.js";
import { toChats } from "../../routes.js";
import { average } from "./figures.js";

/** A click on a bar leads to the chats of its time. */
export function charts(appId, { by, end: last }, { points, now }) {
  const at = points.map((it) => it.at);
  const chosen = (index) => {
    const end = at[index + 1] ?? new Date(last).toISOString();
    location.hash = toChats(appId, { from: at[index], before: end, lifecycle: "all" });
  };
  const bars = (label, kind, of) => ({ label, kind, style: "bar", values: points.map(of) });
  const common = { at, step: by, chosen };
  return h(
    "section",
    { class: "panel", "data-key": "charts" },
    h("h2", {}, `By ${by}`),
    h(
      "div",
      { class: "charts" },
      chart({
        ...common,
        title: "Cost",
        format: money,
        scale: roundMoney,
        lines: [bars("spent", "cost", (it) => it.cost_micros_usd)],
      }),
      chart({
        ...common,
        title: "Tokens",
        format: count,
        lines: [bars("used", "calls", (it) => it.total_tokens)],
      }),
      chart({
        ...common,
        title: "Chats ended",
        format: count,
        lines: [
          bars("completed", "completions", (it) => it.completions),
          bars("failed", "failures", (it) => it.failures),
        ],
      }),
      chart({
        ...common,
        title: "Call duration",
        format: (ms) => duration(ms && Math.round(ms)),
        lines: [
          {
            label: "average",
            kind: "p50",
            style: "step",
            whole: average(now),
            values: points.map(average),
          },
        ],
      }),
    ),
  );
}
