// The versions of the context snapshot: any two side by side, and any of them restored.

import { getExact, pages, path, post, query } from "../../api.js";
import { h, once } from "../../dom.js";
import { many } from "../../format.js";
import { poll } from "../../poll.js";
import { compare } from "../../parts/compare.js";
import { confirmed } from "../../parts/confirmation.js";
import { block, formatJson } from "../../parts/json.js";
import { problemText } from "../../parts/problem.js";
import { time } from "../../parts/summary.js";
import { toChat } from "../../routes.js";
import { announce } from "../../screen.js";

function titleOf(pair) {
  if (!pair) return "Comparison";
  const { from, to } = pair;
  return from === to ? `Version ${to}` : `Version ${from} and version ${to}`;
}

/** The panel of context versions; `changed` is called when `element` has changed. */
export function contextHistory({ appId, chatId }, screen, { signal, changed }) {
  const base = path`api/chats/${appId}/${chatId}/context`;
  const contents = new Map();
  let isShown = false;
  let chosen = {};
  let wanted = 1;
  let versions = null;
  let refusal = null;
  let shown = null;
  const refresh = poll(load, { every: null, signal, failed: (problem) => screen.fail(problem) });

  async function load() {
    if (!isShown) return;
    versions = await pages(query(`${base}/history`, { limit: 50 }), "data", wanted, signal);
    const pair = both();
    refusal = null;
    if (pair) shown = await compared(pair);
    changed();
  }

  /** The versions to compare: those of the address, or else the newest and the one before it. */
  function both() {
    const [newest, second] = versions.items.map(({ version }) => version);
    const to = Number(chosen.to) || newest;
    const before = versions.items.find(({ version }) => version < to)?.version;
    const from = Number(chosen.from) || before || (second ?? newest);
    return newest === undefined ? null : { from, to };
  }

  async function compared({ from, to }) {
    try {
      const [before, after] = await Promise.all([from, to].map(content));
      return {
        from,
        to,
        element: h(
          "div",
          {
            class: "diff-box",
            "data-key": `diff ${from} ${to}`,
            "data-kept": true,
            tabindex: "0",
            role: "region",
            "aria-label": titleOf({ from, to }),
          },
          from === to
            ? block(after)
            : compare(
                { label: `Version ${from}`, text: before },
                { label: `Version ${to}`, text: after },
              ),
        ),
      };
    } catch (problem) {
      if (problem.status !== 404) throw problem;
      refusal = problem;
      return null;
    }
  }

  /** A version never changes, so each is read once. */
  async function content(version) {
    if (!contents.has(version)) {
      const one = await getExact(`${base}/history/${version}`, signal);
      contents.set(version, formatJson(one.context_snapshot));
    }
    return contents.get(version);
  }

  async function restore(version) {
    const is = await confirmed({
      title: `Restore version ${version}?`,
      text: `The content of version ${version} becomes the newest version of the context. The messages stay as they are, and version ${versions.items[0].version} stays in this list.`,
      action: `Restore version ${version}`,
    });
    if (!is) return;
    try {
      await post(`${base}/restore`, { version }, signal);
      announce(`Version ${version} was restored`);
      chosen = {};
      refresh();
    } catch (problem) {
      if (signal.aborted) return;
      refusal = problem;
      changed();
    }
  }

  function element({ permissions }) {
    if (!versions) return h("p", { class: "waiting", "data-key": "context" }, "Loading…");
    const pair = both();
    return h(
      "div",
      { class: "contexts", "data-key": "context" },
      h(
        "section",
        { class: "panel", "data-key": "versions" },
        h("h2", {}, "Versions"),
        versions.items.length === 0
          ? h("p", { class: "dim" }, "This chat has no context snapshot.")
          : h(
              "ol",
              { class: "versions" },
              versions.items.map((it) => versionItem(it, pair, permissions.includes("run"))),
            ),
        versions.hasMore &&
          h(
            "button",
            { type: "button", class: "more", onclick: () => ((wanted += 1), refresh()) },
            "More versions",
          ),
      ),
      h(
        "section",
        { class: "panel", "data-key": "comparison" },
        h("h2", {}, titleOf(pair)),
        refusal &&
          h("p", { class: "refusal", role: "alert" }, problemText(refusal)),
        shown && pair && shown.from === pair.from && shown.to === pair.to && once(shown.element),
      ),
    );
  }

  function versionItem(
    { version, sequence, created_at: created, bytes },
    { from, to },
    isRestorable,
  ) {
    const newest = versions.items[0].version;
    const choice = (label, isChosen, pair) =>
      h(
        "a",
        {
          href: toChat(appId, chatId, { view: "context", ...pair }),
          "aria-current": isChosen && "true",
          "aria-label": `${label} version ${version}`,
        },
        label,
      );
    return h(
      "li",
      { "data-key": String(version) },
      h(
        "span",
        { class: "version" },
        h("b", {}, `Version ${version}`),
        version === newest && h("span", { class: "role" }, "current"),
      ),
      h(
        "span",
        { class: "dim" },
        time(created),
        ` · after ${many(sequence, "message")} · ${many(bytes, "byte")}`,
      ),
      h(
        "span",
        { class: "choice" },
        // A single version has none to be compared with.
        versions.items.length > 1 && [
          choice("From", version === from, { from: version, to }),
          choice("To", version === to, { from, to: version }),
        ],
        isRestorable &&
          version !== newest &&
          h(
            "button",
            {
              type: "button",
              class: "quiet",
              onclick: () => restore(version),
              "aria-label": `Restore version ${version}`,
            },
            "Restore",
          ),
      ),
    );
  }

  return {
    element,
    /** Shows the panel with the versions of the address; null hides it. */
    open(parameters) {
      isShown = parameters !== null;
      chosen = parameters ?? {};
      if (isShown) refresh();
    },
    refresh,
  };
}
