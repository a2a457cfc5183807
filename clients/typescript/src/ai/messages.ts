import type { UIMessage } from "ai";
import type { Chat } from "../chat.js";
import { Conflict } from "../errors.js";
import { withBigInts } from "../json.js";
import { newId } from "../request.js";
import { rememberLoad } from "./known.js";

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
  const messages = (await chat.history("ui-message")).messages as unknown[] as M[];
  rememberLoad(chat, messages);
  return messages;
}

export interface SaveOptions {
  /** Deletes what is stored after the last of the messages: another answer replaces it. */
  readonly truncate?: boolean;
  /**
   * Tells whether the caller knows a message that is to be deleted. If it does not know one of them, such as what another page has
   * said meanwhile, the error is `Conflict` and nothing is deleted. Without it, everything after the last message is deleted.
   */
  readonly isKnown?: (message: UIMessage) => boolean;
}

/**
 * Saves messages: all of a chat, or the last ones. Those that are stored already are stored once; one that has changed since
 * replaces what is stored under its id. Repeat it as often as you like.
 *
 * What was stored first under an id replaces no later state: a page that was opened earlier may send it again. To set a message
 * back to it, give the metadata a field that differs each time, such as a time. With `truncate`, the last message is set back
 * without it.
 *
 * Messages have ids of 1 to 256 characters; the id of a deleted message cannot be used again (`Conflict`).
 */
export async function saveMessages(
  chat: Chat,
  messages: readonly UIMessage[],
  { truncate = false, isKnown }: SaveOptions = {},
): Promise<void> {
  const end = truncate && isKnown !== undefined ? await checkedEnd(chat, messages, isKnown) : Infinity;
  let last = -1;
  for (const some of pieces(truncate ? withChangedLast(messages) : messages)) {
    const { messages: stored } = await chat.sync("ui-message", some);
    last = stored.reduce((sequence, message) => Math.max(sequence, message.sequence), -1);
  }
  if (!truncate) return;
  const later: string[] = [];
  for await (const message of chat.messages({ after: last })) {
    if (message.sequence >= end) throw unknownMessages(1, message.event_id, "nothing was deleted");
    if (message.deleted_at === undefined || message.deleted_at === null) later.push(message.event_id);
  }
  await chat.deleteMessages(later);
}

/** Checks that the caller knows what is stored after its messages; returns the sequence up to which it was checked. */
async function checkedEnd(
  chat: Chat,
  messages: readonly UIMessage[],
  isKnown: (message: UIMessage) => boolean,
): Promise<number> {
  const history = await chat.history("ui-message");
  const stored = history.messages as unknown[] as UIMessage[];
  const kept = new Set(messages.map(({ id }) => id));
  const later = stored.slice(stored.findLastIndex(({ id }) => kept.has(id)) + 1);
  const unknown = later.filter((message) => !isKnown(message));
  const [first] = unknown;
  if (first !== undefined) throw unknownMessages(unknown.length, first.id, "nothing was changed");
  return history.last_sequence;
}

function unknownMessages(count: number, firstId: string, outcome: string): Conflict {
  const found = count === 1 ? `1 message (${firstId})` : `${count} messages (the first is ${firstId})`;
  const repair = "load the messages again with loadMessages, and repeat";
  return new Conflict(
    `the chat has ${found} after the last one kept that this page has not loaded; ${outcome}: ${repair}`,
  );
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
    const added = withBigInts(message).length;
    if (piece.length > 0 && (piece.length === MAX_SENT || characters + added > MAX_CHARACTERS)) {
      yield piece;
      [piece, characters] = [[], 0];
    }
    piece.push(message);
    characters += added;
  }
  if (piece.length > 0) yield piece;
}
