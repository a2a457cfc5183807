import { type ChatTransport, DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";
import type { Chat } from "../chat.js";
import type { Reprise } from "../client.js";
import { unlessAborted } from "../clock.js";
import { isRefusal } from "../errors.js";
import { withBigInts } from "../json.js";
import { loadedWith } from "./known.js";
import { type SaveOptions, saveMessages } from "./messages.js";
import { recorded } from "./recorded.js";
import { runningAnswer } from "./running.js";
import { stopAnswers } from "./stopped.js";

export interface RepriseChatTransportOptions<M extends UIMessage> {
  readonly reprise: Reprise;
  /** The workflow of the chats that the transport creates. */
  readonly workflowName: string;
  /** What sends messages to the application; by default a `DefaultChatTransport`, which posts them to `/api/chat`. */
  readonly transport?: ChatTransport<M>;
  /** Who stores the answers: the page that asks (the default), or the endpoint, by `streamAnswer`; the page stores the rest. */
  readonly storedBy?: "page" | "endpoint";
  /** The messages that the page begins with, if not `loadMessages` in the page but its server has loaded them. */
  readonly messages?: readonly M[];
}

type SendOptions<M extends UIMessage> = Parameters<ChatTransport<M>["sendMessages"]>[0];
type ReconnectOptions<M extends UIMessage> = Parameters<ChatTransport<M>["reconnectToStream"]>[0];

/** How many messages are sent again with each new one, to store what could not be stored before. */
const SENT_AGAIN = 20;

/**
 * A transport of `useChat` whose chats are stored in Reprise. The application's own endpoint answers, as with any transport.
 *
 * A message is stored before it is sent, and the answer when its stream ends. An answer that breaks off or is stopped is stored as
 * far as it came. If a message cannot be stored, it is not sent, and the chat has an error. The next message stores it, unless the
 * service has refused it. A chat is created with its first
 * message, under the id that `useChat` has. A regenerated answer, and everything after an edited message, is deleted. If there is
 * more than the page knows, such as what another tab has said meanwhile, nothing is deleted and the chat has a `Conflict` as its
 * error: set the messages of the page to those of `loadMessages`. If the endpoint stores the answers, this holds for the
 * messages of persons, because the page does not have the ids of the answers.
 *
 * An answer is stored by the page that asked for it. That needs the permission `run`, which a person has in their own chats if the
 * setting `users_may_run` of the app says so. With a page that is closed, the rest of its answer is lost. Let the endpoint save
 * the answer to prevent this: with `streamAnswer` in the endpoint and `storedBy: "endpoint"` here, the answer goes on without the page. It ends when the
 * person stops it, and the next message waits for that. Of an answer that was resumed, the next message is what ends it.
 *
 * A page that is reloaded, or opened elsewhere, while an answer is produced shows it from its beginning and goes on, if `streamAnswer`
 * writes it: `useChat` with `resume` calls `reconnectToStream`. If the connection breaks, the answer goes on with the next one. If
 * another agent begins the answer again, it ends as with a connection that is lost: `resumeStream` shows it from its beginning.
 */
export class RepriseChatTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  /** A resumed answer comes from its beginning. */
  readonly resumeStreamIsReplay = true;
  readonly #options: RepriseChatTransportOptions<M>;
  readonly #transport: ChatTransport<M>;
  /** The chats that are stored, up to their last messages. */
  readonly #stored = new Set<string>();
  /** The ids of the messages that the page has sent or received, by chats. */
  readonly #known = new Map<string, Set<string>>();
  /** The messages that the service has refused, as JSON. They are not sent again. */
  readonly #refused = new Set<string>();
  /** The ids that the page has for answers which the endpoint goes on with, by chats. */
  readonly #continued = new Map<string, string>();
  /** What the next message of a chat waits for: the end of an answer that was stopped. */
  readonly #stopping = new Map<string, () => Promise<void>>();

  constructor(options: RepriseChatTransportOptions<M>) {
    this.#options = options;
    this.#transport = options.transport ?? new DefaultChatTransport<M>();
  }

  async sendMessages(options: SendOptions<M>): Promise<ReadableStream<UIMessageChunk>> {
    const chat = this.#options.reprise.chat(options.chatId);
    const isEndpoints = this.#options.storedBy === "endpoint";
    await this.#stopped(options);
    const known = this.#knownOf(chat, options.messages);
    await this.#store(chat.with({ signal: options.abortSignal }), options);
    if (!isEndpoints) {
      const chunks = await this.#transport.sendMessages(options);
      return recorded(chunks, continuedBy(options), (answer) => {
        known.add(answer.id);
        return this.#save(chat, [answer]);
      });
    }
    const continued = continuedBy(options);
    if (continued !== undefined) this.#continued.set(options.chatId, continued.id);
    options.abortSignal?.addEventListener("abort", () => {
      const ended = stopAnswers(chat);
      this.#stopping.set(chat.chatId, () => ended);
    });
    return this.#transport.sendMessages(options);
  }

  async reconnectToStream({
    chatId,
    abortSignal,
  }: ReconnectOptions<M>): Promise<ReadableStream<UIMessageChunk> | null> {
    const chat = this.#options.reprise.chat(chatId);
    this.#stopping.delete(chatId);
    const chunks = await runningAnswer(chat, abortSignal);
    if (chunks !== null && this.#options.storedBy === "endpoint") {
      // It is aborted also when the page resumes again, so that only the next message stops the answer.
      abortSignal?.addEventListener("abort", () => this.#stopping.set(chatId, () => stopAnswers(chat)));
    }
    if (chunks === null) return null;
    const continued = this.#continued.get(chatId);
    const named = continued === undefined ? chunks : chunks.pipeThrough(underId(continued, chat));
    return named.pipeThrough(withIdsIn(this.#knownOf(chat, [])));
  }

  /** Waits until an answer that was stopped has ended. */
  async #stopped({ chatId, abortSignal = new AbortController().signal }: SendOptions<M>): Promise<void> {
    const stopping = this.#stopping.get(chatId);
    if (stopping === undefined) return;
    await unlessAborted(stopping(), abortSignal);
    abortSignal.throwIfAborted();
    this.#stopping.delete(chatId);
  }

  async #store(chat: Chat, options: SendOptions<M>): Promise<void> {
    const isKnown = this.#stored.has(chat.chatId);
    if (!isKnown) await chat.ensure({ workflow_name: this.#options.workflowName });
    const messages = this.#own(isKnown ? options.messages.slice(-SENT_AGAIN) : options.messages);
    const isEdit = options.messages.some((message) => message.id === options.messageId && message.role === "user");
    const known = this.#knownOf(chat, options.messages);
    await this.#save(chat, messages, {
      truncate: options.trigger === "regenerate-message" || isEdit,
      isKnown: ({ id, role }) => known.has(id) || (this.#options.storedBy === "endpoint" && role === "assistant"),
    });
    this.#stored.add(chat.chatId);
  }

  /** Returns the ids of the messages that the page knows, with those of these messages and of what was loaded with them. */
  #knownOf(chat: Chat, messages: readonly UIMessage[]): Set<string> {
    const known = this.#known.get(chat.chatId) ?? new Set(this.#options.messages?.map(({ id }) => id));
    this.#known.set(chat.chatId, known);
    for (const { id } of messages) known.add(id);
    for (const id of loadedWith(chat, messages)) known.add(id);
    return known;
  }

  /** Saves messages, without those that the service has refused before. */
  async #save(chat: Chat, messages: readonly UIMessage[], options?: SaveOptions): Promise<void> {
    const accepted = messages.filter((message) => !this.#refused.has(withBigInts(message)));
    try {
      await saveMessages(chat, accepted, options);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // Each by itself, to learn which of them is refused.
      for (const message of accepted) {
        await saveMessages(chat, [message]).catch((refusal: unknown) => {
          if (isRefusal(refusal)) this.#refused.add(withBigInts(message));
        });
      }
      throw error;
    }
  }

  /** Returns the messages that the page stores. An answer that the endpoint stores has another id there than in the page. */
  #own(messages: readonly M[]): readonly M[] {
    if (this.#options.storedBy !== "endpoint") return messages;
    return messages.filter(({ role }) => role !== "assistant");
  }
}

/** Gives an answer the id that the page has for it: one that goes on with an earlier one comes under the id that it has in the chat. */
function underId(id: string, chat: Chat): TransformStream<UIMessageChunk, UIMessageChunk> {
  return new TransformStream({
    async transform(chunk, controller) {
      const isIts =
        chunk.type === "start" && chunk.messageId !== undefined && (await isOwnId(chat, chunk.messageId, id));
      controller.enqueue(isIts ? { ...chunk, messageId: id } : chunk);
    },
  });
}

/** Adds the ids of answers to those that the page knows. */
function withIdsIn(known: Set<string>): TransformStream<UIMessageChunk, UIMessageChunk> {
  return new TransformStream({
    transform(chunk, controller) {
      if (chunk.type === "start" && chunk.messageId !== undefined) known.add(chunk.messageId);
      controller.enqueue(chunk);
    },
  });
}

/** Returns whether a stored answer has another id in the page that showed it first. */
async function isOwnId(chat: Chat, eventId: string, id: string): Promise<boolean> {
  if (eventId === id) return false;
  const stored = await chat.message(eventId).catch(() => undefined);
  return stored?.["message_id"] === id;
}

/** Returns the message of the assistant that an answer continues, as it does after the output of a tool of the page. */
function continuedBy<M extends UIMessage>({ trigger, messages, messageId }: SendOptions<M>): M | undefined {
  if (trigger === "regenerate-message") return undefined;
  const message = messages.find((it) => it.id === messageId) ?? messages.at(-1);
  return message?.role === "assistant" ? message : undefined;
}
