// The calls of tools in a message, each folded with its result.

import { h } from "../dom.js";
import { content, json } from "./content.js";

const MAX_PREVIEW = 80;

/** The calls of a message: `{id, name, given}`, whatever the caller has stored there. */
export function toolCalls({ tool_calls: calls, function_call: old }) {
  const list = Array.isArray(calls) ? [...calls] : [];
  if (old && typeof old === "object") list.push({ function: old });
  return list.map((call) => {
    const { name, arguments: given } = call?.function ?? {};
    const id = typeof call?.id === "string" ? call.id : null;
    return { id, name: typeof name === "string" ? name : "a tool", given };
  });
}

/** The results that a message holds: `{id, content, error}`. */
export function results({
  tool_call_id: id,
  tool_responses: several,
  content: said,
  tool_error: error,
}) {
  const own = typeof id === "string" ? [{ id, content: said, error }] : [];
  const more = Array.isArray(several) ? several : [];
  return [
    ...own,
    ...more
      .filter((it) => typeof it?.tool_call_id === "string")
      .map((it) => ({ id: it.tool_call_id, content: it.content, error: it.is_error })),
  ];
}

/** Which message has the result of which call. An id may be used again later in a chat. */
export function toolLinks() {
  const found = { calls: new Map(), results: new Map() };

  function put(map, id, entry) {
    const others = (map.get(id) ?? []).filter(({ sequence }) => sequence !== entry.sequence);
    map.set(
      id,
      [...others, entry].sort((a, b) => a.sequence - b.sequence),
    );
  }

  return {
    add(it) {
      for (const call of toolCalls(it)) {
        if (call.id !== null) put(found.calls, call.id, { ...call, sequence: it.sequence });
      }
      for (const one of results(it)) put(found.results, one.id, { ...one, sequence: it.sequence });
    },
    /** The first result after a message. */
    result: (id, after) =>
      (found.results.get(id) ?? []).find(({ sequence }) => sequence > after) ?? null,
    /** The last call before a message. */
    caller: (id, before) =>
      (found.calls.get(id) ?? []).findLast(({ sequence }) => sequence < before) ?? null,
    callerOf: (id) => found.calls.get(id)?.at(-1).sequence,
  };
}

/** `result` is what `results` returned for the call, with the `sequence` of its message; null without one. */
export function toolCall(call, result) {
  const isFailed = Boolean(result?.error);
  const state = result ? (isFailed ? "failed" : "result") : "no result";
  return h(
    "details",
    { class: `tool-call ${isFailed ? "failed" : ""}` },
    h(
      "summary",
      {},
      h("span", { class: "dim" }, "calls "),
      h("code", { dir: "auto" }, call.name),
      h("span", { class: "preview", dir: "auto" }, preview(call.given)),
      h("span", { class: "state" }, state),
    ),
    h("div", { class: "dim" }, "Arguments"),
    json(call.given) ?? h("div", {}, "none"),
    h(
      "div",
      { class: "dim" },
      result ? `${isFailed ? "Error" : "Result"}, #${result.sequence}` : "No result",
    ),
    result && content(result.content, true),
    typeof result?.error === "string" && h("pre", { class: "error" }, result.error),
  );
}

function preview(given) {
  const text = typeof given === "string" ? given : given ? JSON.stringify(given) : "";
  const line = text.slice(0, MAX_PREVIEW * 2).replace(/\s+/g, " ");
  return line.length > MAX_PREVIEW ? `${line.slice(0, MAX_PREVIEW)}…` : line;
}
