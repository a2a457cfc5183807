// The questions that a chat waits on, and what the reader answers.

import { path, post } from "../api.js";
import { h } from "../dom.js";
import { announce } from "../screen.js";
import { question } from "./question.js";

const EVENTS = ["caught-up", "input-request", "input-response"];

/** A longer prompt is not read out whole. */
const READ_OUT = 200;

/**
 * Keeps the pending questions of a chat, by what its events say. `changed` is called whenever
 * `element`, the cards, has become another.
 */
export function questions({ appId, chatId }, { signal, changed }) {
  /** By id, oldest first: the request, and where the reader's answer stands. */
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
    const news = events.filter(({ name }) => EVENTS.includes(name));
    if (news.length === 0) return;
    for (const { name, data } of news) {
      if (name === "input-request") ask(data);
      if (name === "input-response") close(data.request_id);
      // What was closed while there was no connection is not told.
      if (name === "caught-up") {
        [...cards.keys()].filter((id) => !data.pending_inputs.includes(id)).forEach(close);
      }
    }
    show();
  }

  function ask(request) {
    if (cards.has(request.request_id)) return;
    cards.set(request.request_id, { request });
    announce(`${request.agent ?? "The workflow"} asks: ${request.prompt.slice(0, READ_OUT)}`);
  }

  function close(id) {
    const card = cards.get(id);
    // Whose answer is under way is told whether it was the first.
    if (card?.isSending) card.isOver = true;
    else if (!card?.closed) cards.delete(id);
  }

  async function send(card, content) {
    if (card.isSending) return;
    // The same answer again is the same message, should the first one have arrived after all.
    if (card.content !== content) Object.assign(card, { content, eventId: mint() });
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

  /** Has the cards shown as they are now; a focus whose element goes stays near it. */
  function show() {
    const card = document.activeElement?.closest(".question");
    changed();
    if (!card || card.contains(document.activeElement)) return;
    const place = card.isConnected ? card : document.querySelector(".said");
    place?.querySelector("h2").focus({ preventScroll: true });
  }

  return { element, happened };
}

/** An id for a message. Browsers have no `randomUUID` for pages that came over plain HTTP. */
function mint() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `evt_${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
