// What an agent has produced so far, from the chunks of its stream: plain text, the AI SDK's, or those of ACP.

import { h } from "../dom.js";
import { many } from "../format.js";
import { content, json } from "./content.js";
import { plain } from "./markdown.js";

/** Keeps `place` showing the parts of an answer: text, reasoning and calls of tools, in the order of their chunks. */
export function streamParts(place) {
  /** The part that text is added to: `{kind, id, add}`. */
  let current = null;
  /** By the id of the call: the part of a tool. */
  let tools = new Map();

  function clear() {
    [current, tools] = [null, new Map()];
    place.replaceChildren();
  }

  function add(chunks) {
    // Texts that follow each other are added at once.
    let text = null;
    const flush = () => {
      if (text) grow(text);
      text = null;
    };
    for (const chunk of chunks) {
      const read = readChunk(chunk);
      if (read.text !== undefined && text && text.kind === read.kind && text.id === read.id) {
        text.text += read.text;
        continue;
      }
      flush();
      if (read.text !== undefined) text = { ...read };
      else if (read.kind === "end") current = null;
      else if (read.kind === "tool") tool(read);
      else if (read.kind === "error") show(h("p", { class: "refusal", dir: "auto" }, read.error));
    }
    flush();
  }

  function grow({ kind, id, text }) {
    if (current?.kind !== kind || current.id !== id) {
      const part = kind === "reasoning" ? thinking() : speaking();
      show(part.element);
      current = { kind, id, add: part.add };
    }
    current.add(text);
  }

  function show(element) {
    current = null;
    place.append(element);
  }

  function tool({ id, ...news }) {
    if (!tools.has(id)) {
      const part = calling();
      tools.set(id, part);
      show(part.element);
    }
    tools.get(id).update(news);
  }

  return { add, clear };
}

function speaking() {
  const element = plain("");
  return { element, add: (text) => element.append(text) };
}

function thinking() {
  const words = plain("");
  const size = h("small", {});
  let length = 0;
  const element = h("details", { class: "reasoning" }, h("summary", {}, "Reasoning ", size), words);
  const add = (text) => {
    length += text.length;
    size.textContent = many(length, "character");
    words.append(text);
  };
  return { element, add };
}

/** A call of a tool, folded: what it was given, and what it returned. */
function calling() {
  const called = h("code", { dir: "auto" }, "a tool");
  const state = h("span", { class: "state" }, "running");
  const given = h("div", {});
  const returned = h("div", {});
  const summary = h("summary", {}, h("span", { class: "dim" }, "calls "), called, state);
  const element = h("details", { class: "tool-call" }, summary, given, returned);
  const titled = (title, of) => [h("div", { class: "dim" }, title), of ?? h("div", {}, "none")].flat();
  const update = ({ name, input, output, error }) => {
    if (name) called.textContent = name;
    if (input !== undefined) given.replaceChildren(...titled("Arguments", json(input)));
    if (output === undefined && error === undefined) return;
    element.classList.toggle("failed", error !== undefined);
    state.textContent = error === undefined ? "result" : "failed";
    const result = error === undefined ? content(output, true) : h("pre", { class: "error" }, error);
    returned.replaceChildren(...titled(error === undefined ? "Result" : "Error", result));
  };
  return { element, update };
}

const NOTHING = { kind: "nothing" };

/** What a chunk says: a `text` of a part, the `end` of a part, an `error`, news of a `tool`, or nothing to show. */
function readChunk(chunk) {
  if (typeof chunk === "string") return { kind: "text", id: null, text: chunk };
  if (chunk?.sessionUpdate) return readUpdate(chunk);
  const { type, id = null, toolCallId, toolName: name, input, output, errorText } = chunk ?? {};
  const tool = { kind: "tool", id: toolCallId, name: worded(name) };
  switch (type) {
    case "text-delta":
    case "reasoning-delta":
      return { kind: type.replace("-delta", ""), id, text: worded(chunk.delta) ?? "" };
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
      return { kind: "end" };
    case "tool-input-start":
      return tool;
    case "tool-input-available":
      return { ...tool, input };
    case "tool-input-error":
      return { ...tool, input, error: worded(errorText) ?? "" };
    case "tool-output-available":
      return { ...tool, output };
    case "tool-output-error":
      return { ...tool, error: worded(errorText) ?? "" };
    case "error":
      return { kind: "error", error: worded(errorText) ?? "The agent reports an error." };
    default:
      return NOTHING;
  }
}

/** The same for an update of ACP. */
function readUpdate({ sessionUpdate: kind, content: said, toolCallId, ...of }) {
  const text = worded(said?.text) ?? "";
  if (kind === "agent_message_chunk") return { kind: "text", id: null, text };
  if (kind === "agent_thought_chunk") return { kind: "reasoning", id: null, text };
  if (kind !== "tool_call" && kind !== "tool_call_update") return NOTHING;
  const tool = { kind: "tool", id: toolCallId, name: worded(of.title), input: of.rawInput };
  const result = of.rawOutput ?? said ?? null;
  if (of.status === "completed") return { ...tool, output: result };
  if (of.status === "failed") return { ...tool, error: JSON.stringify(result) };
  return tool;
}

/** A caller may have stored anything. */
const worded = (value) => (typeof value === "string" ? value : undefined);
