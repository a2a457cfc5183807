// The questions that a chat waits for, and the user's answers.

import { h } from "../dom.js";
import { many } from "../format.js";
import { announce } from "../screen.js";
import { answers } from "./answers.js";

const EVENTS = ["caught-up", "input-request", "input-response"];

/** The most characters of a prompt that are announced to a screen reader. */
const MAX_ANNOUNCED = 200;

/**
 * Keeps the pending questions of a chat up to date with its events. `changed` is called whenever the result of
 * `element`, the cards, has changed.
 */
export function questions({ appId }, { signal, changed }) {
  const cards = answers(appId, { signal, changed });

  const element = ({ isAnswerable }) =>
    cards.count() > 0 &&
    h(
      "div",
      { class: "questions", "data-key": "questions" },
      // Not all of them are in sight.
      cards.pending() > 2 &&
        h("p", { class: "dim", "data-key": "number" }, `${many(cards.pending(), "pending question")}.`),
      cards.elements({ isAnswerable }),
    );

  function happened(events) {
    const relevant = events.filter(({ name }) => EVENTS.includes(name));
    if (relevant.length === 0) return;
    for (const { name, data } of relevant) {
      if (name === "input-request") ask(data);
      if (name === "input-response") cards.close(data);
      // A request that was closed while there was no connection has no event of its own.
      if (name === "caught-up") cards.keep((it) => data.pending_inputs.includes(it.request_id));
    }
    cards.show();
  }

  function ask(request) {
    if (!cards.ask(request)) return;
    announce(`${request.agent ?? "The workflow"} asks: ${request.prompt.slice(0, MAX_ANNOUNCED)}`);
  }

  return { element, happened };
}
