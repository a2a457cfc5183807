// Answers that agents are producing now. They are shown after the last message until they are stored.

import { h } from "../dom.js";
import { streamParts } from "./stream_parts.js";

const EVENTS = [
  "caught-up",
  "stream-started",
  "stream-chunk",
  "stream-stalled",
  "stream-finished",
];

/** Shows unfinished answers in `place`. `grown` is called after something has changed. */
export function streams(place, grown) {
  /** By id: the element, its parts that grow, the words beside its speaker, and the position that it has. */
  const open = new Map();

  /** Takes the events of a chat; returns whether they continue what is shown, without a gap. */
  function happened(events) {
    const relevant = events.filter(({ name }) => EVENTS.includes(name));
    const isWhole = relevant.map(({ name, data }) => take(name, data)).every(Boolean);
    if (relevant.length > 0) grown();
    return isWhole;
  }

  function take(name, data) {
    if (name === "stream-started") return started(data);
    if (name === "stream-chunk") return chunk(data);
    if (name === "stream-stalled") say(data.stream_id, "is silent");
    else if (name === "stream-finished") finish(data.stream_id);
    // Every running answer begins again after it: those that do not have ended while there was no connection.
    else [...open.keys()].forEach(finish);
    return true;
  }

  /** An answer begins, begins again, or is continued by another agent. */
  function started({ stream_id: id, agent, attempt, next }) {
    if (!open.has(id)) open.set(id, begin(agent));
    const answer = open.get(id);
    if (next === 0) clear(answer, attempt);
    say(id, "is answering");
    return answer.attempt === attempt && answer.next === next;
  }

  function chunk({ stream_id: id, attempt, from, next, chunks }) {
    const answer = open.get(id);
    if (!answer) return false;
    if (attempt > answer.attempt) clear(answer, attempt);
    // What is void, and what is known.
    if (attempt < answer.attempt || next <= answer.next) return true;
    const known = answer.next - from;
    // The service may have joined chunks: there are then fewer than positions, and the known ones cannot be left out.
    if (known < 0 || (known > 0 && chunks.length !== next - from)) return false;
    answer.next = next;
    answer.parts.add(chunks.slice(known));
    say(id, "is answering");
    return true;
  }

  function clear(answer, attempt) {
    answer.parts.clear();
    Object.assign(answer, { attempt, next: 0 });
  }

  function say(id, state) {
    const shown = open.get(id)?.state;
    if (shown && shown.textContent !== state) shown.textContent = state;
  }

  function begin(agent) {
    const said = h("div", {});
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
      said,
    );
    place.append(element);
    return { element, parts: streamParts(said), state, attempt: 0, next: 0 };
  }

  /** Removes an answer: its messages are stored, and arrive as messages. */
  function finish(id) {
    open.get(id)?.element.remove();
    open.delete(id);
  }

  return { happened, isAny: () => open.size > 0 };
}
