// Answers that agents are producing now. They are shown after the last message until they are stored.

import { h } from "../dom.js";
import { plain } from "./markdown.js";

const EVENTS = ["stream-started", "stream-chunk", "stream-stalled", "stream-finished"];

/** Shows unfinished answers in `place`. `grown` is called after something was added. */
export function streams(place, grown) {
  /** By id: the element, its paragraph that grows, and the words beside its speaker. */
  const open = new Map();

  function happened(events) {
    const relevant = events.filter(({ name }) => EVENTS.includes(name));
    for (const { name, data } of relevant) {
      if (name === "stream-started") started(data);
      else if (name === "stream-chunk") chunk(data);
      else if (name === "stream-stalled") say(data.stream_id, "is silent");
      else finish(data.stream_id);
    }
    if (relevant.length > 0) grown();
  }

  /** An answer begins, begins again, or is continued by another agent. */
  function started({ stream_id: id, agent, next }) {
    if (!open.has(id)) open.set(id, begin(agent));
    else if (next === 0) open.get(id).words.replaceChildren();
    say(id, "is answering");
  }

  function chunk({ stream_id: id, chunks }) {
    open.get(id)?.words.append(chunks.map(textOf).join(""));
    say(id, "is answering");
  }

  function say(id, state) {
    const shown = open.get(id)?.state;
    if (shown && shown.textContent !== state) shown.textContent = state;
  }

  function begin(agent) {
    const words = plain("");
    const state = h("span", { class: "role" }, "is answering");
    const speaker = agent ?? "assistant";
    const element = h(
      "article",
      {
        class: "message assistant unfinished",
        "aria-label": `Unfinished answer of ${speaker}`,
      },
      h(
        "div",
        { class: "by" },
        h("span", { class: "who", dir: "auto" }, speaker),
        state,
      ),
      words,
    );
    place.append(element);
    return { element, words, state };
  }

  /** Removes an answer: its messages are stored, and arrive as messages. */
  function finish(id) {
    open.get(id)?.element.remove();
    open.delete(id);
  }

  return { happened };
}

/** Returns the text of a chunk: of plain text, of the AI SDK, or of ACP. */
function textOf(chunk) {
  if (typeof chunk === "string") return chunk;
  if (chunk?.type === "text-delta") return chunk.delta ?? "";
  return chunk?.sessionUpdate === "agent_message_chunk" ? (chunk.content?.text ?? "") : "";
}
