// Cards of questions, and the user's answers to them: those of one chat, or of all chats of an app.

import { path, post } from "../api.js";
import { question } from "./question.js";

/** Keeps the cards of pending questions. `changed` is called whenever the result of `elements` has changed. */
export function answers(appId, { signal, changed, where, isNewestFirst = false }) {
  /** By chat and id: the request, and the state of the user's answer. */
  const cards = new Map();
  const keyOf = ({ chat_id: chatId, request_id: id }) => `${chatId} ${id}`;

  const elements = ({ isAnswerable = true } = {}) => {
    const oldestFirst = [...cards.values()].sort((one, other) =>
      one.request.created_at.localeCompare(other.request.created_at),
    );
    const inOrder = isNewestFirst ? oldestFirst.reverse() : oldestFirst;
    return inOrder.map((card) => element(card, isAnswerable));
  };

  function element(card, isAnswerable) {
    const dismiss = () => {
      cards.delete(keyOf(card.request));
      show();
    };
    const { permissions } = card.request;
    const isPermitted = isAnswerable && (permissions?.includes("say") ?? true);
    const answer = isPermitted ? (content) => send(card, content) : null;
    return question(card, { answer, dismiss }, where?.(card.request));
  }

  /** Adds a question; returns whether it is new. */
  function ask(request) {
    const known = cards.get(keyOf(request));
    if (known) {
      // The permissions may have changed.
      known.request = request;
      return false;
    }
    cards.set(keyOf(request), { request });
    return true;
  }

  /** Removes a question that is no longer pending. */
  function close(request) {
    const card = cards.get(keyOf(request));
    // While an answer is being sent, its response decides what the card shows.
    if (card?.isSending) card.isOver = true;
    else if (!card?.closed) cards.delete(keyOf(request));
  }

  /** Removes all questions but these. */
  function keep(isPending) {
    const gone = [...cards.values()].filter(({ request }) => !isPending(request));
    gone.forEach(({ request }) => close(request));
  }

  async function send(card, content) {
    if (card.isSending) return;
    // A repeated answer keeps its event id, so that it is stored once even if the first one has arrived.
    if (card.content !== content) Object.assign(card, { content, eventId: newEventId() });
    Object.assign(card, { isSending: true, problem: null });
    show();
    const { chat_id: chatId, request_id: id, tool_call: call } = card.request;
    const answer = { event_id: card.eventId, content };
    if (call) {
      answer.tool_call = { id: call.id, name: call.name, arguments_hash: call.arguments_hash };
    }
    try {
      await post(path`api/chats/${appId}/${chatId}/input-requests/${id}/answer`, answer, signal);
      cards.delete(keyOf(card.request));
    } catch (problem) {
      if (signal.aborted) return;
      if (problem.inputRequest) card.closed = problem.inputRequest;
      else if (card.isOver) cards.delete(keyOf(card.request));
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
    const near = card.isConnected ? [card] : [".said", ".question"].map(first).filter(Boolean);
    const target = near[0]?.querySelector("h2") ?? first("main h1");
    target?.focus({ preventScroll: true });
  }

  const pending = () => [...cards.values()].filter(({ closed }) => !closed).length;

  return { elements, ask, close, keep, show, count: () => cards.size, pending };
}

const first = (selector) => document.querySelector(selector);

/** Returns a new event id. Browsers offer no `randomUUID` to pages over plain HTTP. */
function newEventId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `evt_${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
