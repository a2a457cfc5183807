import type { UIMessage } from "ai";
import type { Chat } from "../chat.js";
import { newId } from "../request.js";

/** How many messages, and how many characters of them, are sent at a time. */
const MAX_SENT = 50;
const MAX_CHARACTERS = 2_000_000;

/**
 * Loads the messages of a chat, as they were saved.
 *
 * Not among them are instructions (the role `system`), which are in `system` of `chat.history("ui-message")`, and messages of the
 * assistant without parts. Messages that were written in another format are converted.
 */
export async function loadMessages<M extends UIMessage = UIMessage>(chat: Chat): Promise<M[]> {
  return (await chat.history("ui-message")).messages as unknown[] as M[];
}

export interface SaveOptions {
  /** Deletes what is stored after the last of the messages: another answer replaces it. */
  readonly truncate?: boolean;
}

/**
 * Saves messages: all of a chat, or the last ones. Those that are stored already are stored once; one that has changed since
 * replaces what is stored under its id. Repeat it as often as you like.
 *
 * Messages have ids of 1 to 256 characters; the id of a deleted message cannot be used again (`Conflict`).
 */
export async function saveMessages(
  chat: Chat,
  messages: readonly UIMessage[],
  { truncate = false }: SaveOptions = {},
): Promise<void> {
  let last = -1;
  for (const some of pieces(truncate ? withChangedLast(messages) : messages)) {
    const { messages: stored } = await chat.sync("ui-message", some);
    last = stored.reduce((sequence, message) => Math.max(sequence, message.sequence), -1);
  }
  if (!truncate) return;
  const later: string[] = [];
  for await (const message of chat.messages({ after: last })) {
    if (message.deleted_at === undefined || message.deleted_at === null) later.push(message.event_id);
  }
  await chat.deleteMessages(later);
}

/**
 * Yields the messages of a chat, and again whenever they have changed. End it with `break`; if the signal of the chat is aborted,
 * it throws the reason of the signal.
 */
export async function* watchMessages<M extends UIMessage = UIMessage>(chat: Chat): AsyncGenerator<M[], void> {
  let isLive = false;
  for await (const { name } of chat.events()) {
    isLive ||= name === "caught-up";
    if (isLive && CHANGES.has(name)) yield await loadMessages<M>(chat);
  }
}

const CHANGES = new Set(["caught-up", "message", "message-updated", "message-deleted"]);

/**
 * Marks the last message as changed: one that is edited back to what it was at first would be taken for a late repeat. Fields
 * that the AI SDK does not have are stored and not shown.
 */
function withChangedLast(messages: readonly UIMessage[]): UIMessage[] {
  return messages.map((message, index) => (index === messages.length - 1 ? { ...message, change: newId() } : message));
}

/** Cuts a list into pieces that fit into a request. */
function* pieces(messages: readonly UIMessage[]): Generator<UIMessage[], void> {
  let piece: UIMessage[] = [];
  let characters = 0;
  for (const message of messages) {
    const added = JSON.stringify(message).length;
    if (piece.length > 0 && (piece.length === MAX_SENT || characters + added > MAX_CHARACTERS)) {
      yield piece;
      [piece, characters] = [[], 0];
    }
    piece.push(message);
    characters += added;
  }
  if (piece.length > 0) yield piece;
}
