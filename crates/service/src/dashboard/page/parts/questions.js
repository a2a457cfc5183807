// The questions that a chat waits for, and the user's answers.

import { path, post } from "../api.js";
import { h } from "../dom.js";
import { announce } from "../screen.js";
import { question } from "./question.js";

const EVENTS = ["caught-up", "input-request", "input-response"];

/** The most characters of a prompt that are announced to a screen reader. */
const MAX_ANNOUNCED = 200;

/**
 * Keeps the pending questions of a chat up to date with its events. `changed` is called whenever the result of
 * `element`, the cards, has changed.
 */
export function questions({ appId, chatId }, { signal, changed }) {
  /** By id, oldest first: the request, and the state of the user's answer. */
  const cards = new Map();

  const element = () => {
    if (cards.size === 0) return null;
    const made = [...cards.values()].map((card) =>
      question(card, {
        answer: (content) => send(card, content),
        dismiss: () => {
          cards.delete(card.request.request_id);
          show();
        },
      }),
    );
    return h("div", { class: "questions", "data-key": "questions" }, made);
  };

  function happened(events) {
    const relevant = events.filter(({ name }) => EVENTS.includes(name));
    if (relevant.length === 0) return;
    for (const { name, data } of relevant) {
      if (name === "input-request") ask(data);
      if (name === "input-response") close(data.request_id);
      // A request that was closed while there was no connection has no event of its own.
      if (name === "caught-up") {
        [...cards.keys()].filter((id) => !data.pending_inputs.includes(id)).forEach(close);
      }
    }
    show();
  }

  function ask(request) {
    if (cards.has(request.request_id)) return;
    cards.set(request.request_id, { request });
    announce(`${request.agent ?? "The workflow"} asks: ${request.prompt.slice(0, MAX_ANNOUNCED)}`);
  }

  function close(id) {
    const card = cards.get(id);
    // While an answer is being sent, its response decides what the card shows.
    if (card?.isSending) card.isOver = true;
    else if (!card?.closed) cards.delete(id);
  }

  async function send(card, content) {
    if (card.isSending) return;
    // A repeated answer keeps its event id, so that it is stored once even if the first one has arrived.
    if (card.content !== content) Object.assign(card, { content, eventId: newEventId() });
    Object.assign(card, { isSending: true, problem: null });
    show();
    const { request_id: id, tool_call: call } = card.request;
    const answer = { event_id: card.eventId, content };
    if (call) {
      answer.tool_call = { id: call.id, name: call.name, arguments_hash: call.arguments_hash };
    }
    try {
      await post(path`api/chats/${appId}/${chatId}/input-requests/${id}/answer`, answer, signal);
      cards.delete(id);
    } catch (problem) {
      if (signal.aborted) return;
      if (problem.inputRequest) card.closed = problem.inputRequest;
      else if (card.isOver) cards.delete(id);
      else card.problem = problem;
    }
    card.isSending = false;
    show();
  }

  /** Shows the current cards. If the focused element is removed, the focus moves to the nearest heading. */
  function show() {
    const card = document.activeElement?.closest(".question");
    changed();
    if (!card || card.contains(document.activeElement)) return;
    const target = card.isConnected ? card : document.querySelector(".said");
    target?.querySelector("h2").focus({ preventScroll: true });
  }

  return { element, happened };
}

/** Returns a new event id. Browsers offer no `randomUUID` to pages over plain HTTP. */
function newEventId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `evt_${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
