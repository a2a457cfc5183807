/**
 * The session store of Discobot's agent, with the messages in Reprise. For Node.js, because it has a file.
 *
 * @module
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { UIMessage as AnyUIMessage } from "ai";
import type { Chat } from "./chat.js";
import { type RepriseError, isRefusal } from "./errors.js";
import { newId } from "./request.js";

/** A message of the AI SDK, with the text of its parts. */
export type UIMessage = AnyUIMessage & { content: string };

export interface PersistedSession {
  sessionId: string;
  cwd: string;
  createdAt: string;
}

export interface SessionStoreConfig {
  /** The file of the session's record; by default `/tmp/agent-session.json`. */
  readonly sessionFile?: string;
  /** The chat in which the messages are stored; without one they are in memory alone. */
  readonly chat?: Chat;
  /** Is told what could not be stored. The messages stay in memory, and are stored with the next change, unless they were refused. */
  readonly onError?: (error: unknown) => void;
}

/**
 * The messages of a session, which are read and changed in memory, and the record of the session in a file.
 *
 * With a `chat`, every change is stored in Reprise, in order, behind the call that makes it: a process that is killed loses what was
 * not stored yet, unless it has waited for `saved()`. Changes of one message in quick succession are stored as one.
 * `SessionStore.open` loads the messages again. The chat should have one such store at a time, because a store does not see what
 * others write.
 *
 * A message has its text in `content`, too. It is not stored: it is the text of the parts, and becomes a part if there is none.
 * Messages of the system are not loaded again, and the id of a message that was cleared cannot be used again.
 */
export class SessionStore {
  #messages: UIMessage[] = [];
  readonly #sessionFile: string;
  readonly #writer: Writer | undefined;

  constructor({ sessionFile = "/tmp/agent-session.json", chat, onError }: SessionStoreConfig = {}) {
    this.#sessionFile = sessionFile;
    this.#writer = chat === undefined ? undefined : new Writer(chat, onError);
  }

  /** Returns a store with the messages of its chat. */
  static async open(config: SessionStoreConfig & { readonly chat: Chat }): Promise<SessionStore> {
    const store = new SessionStore(config);
    const { messages } = await config.chat.history("ui-message");
    store.#messages = (messages as unknown[] as AnyUIMessage[]).map((it) => ({ ...it, content: textOf(it) }));
    return store;
  }

  /** Returns all messages, in a new list. */
  getMessages(): UIMessage[] {
    return [...this.#messages];
  }

  addMessage(message: UIMessage): void {
    this.#messages.push(message);
    this.#writer?.write(message);
  }

  /** Replaces fields of a message; an unknown id has no effect. */
  updateMessage(id: string, updates: Partial<UIMessage>): void {
    const index = this.#messages.findIndex((message) => message.id === id);
    const message = this.#messages[index];
    if (message === undefined) return;
    const updated = { ...message, ...updates };
    this.#messages[index] = updated;
    this.#writer?.write(updated);
  }

  /** Returns the newest message of the assistant. */
  getLastAssistantMessage(): UIMessage | undefined {
    return this.#messages.findLast((message) => message.role === "assistant");
  }

  clearMessages(): void {
    this.#messages = [];
    this.#writer?.clear();
  }

  /** Reads the record of the session; null if there is no file, or one that is not valid. */
  loadSession(): PersistedSession | null {
    try {
      const parsed: unknown = JSON.parse(readFileSync(this.#sessionFile, "utf-8"));
      if (isSession(parsed)) return { cwd: "", createdAt: "", ...parsed };
      console.warn("Invalid session file: missing sessionId");
    } catch (error) {
      if (!isMissingFile(error)) console.warn("Failed to load session:", error);
    }
    return null;
  }

  /** Writes the record of the session. Without a place for the file, the session goes on and is not recovered. */
  saveSession(session: PersistedSession): void {
    try {
      // A reader, and a process that starts after a crash, find the old file or the new one.
      const written = `${this.#sessionFile}.${newId()}`;
      writeFileSync(written, JSON.stringify(session, null, 2));
      renameSync(written, this.#sessionFile);
    } catch (error) {
      console.error("Failed to save session:", error);
    }
  }

  /** Removes the file and the messages. */
  clearSession(): void {
    this.clearMessages();
    try {
      rmSync(this.#sessionFile, { force: true });
    } catch (error) {
      console.error("Failed to remove session:", error);
    }
  }

  /** Waits until every change is stored; throws what prevents it. A change that the service refuses is thrown once, and not stored. */
  async saved(): Promise<void> {
    await this.#writer?.finished();
  }
}

/** Stores the changes of messages one after the other. */
class Writer {
  readonly #chat: Chat;
  readonly #onError: (error: unknown) => void;
  /** What is to be stored: the newest state of each message, in their order. */
  readonly #changed = new Map<string, UIMessage>();
  #isCleared = false;
  /** Why the service has refused changes since `finished` was called last. */
  #refusals: RepriseError[] = [];
  #writing: Promise<void> | undefined;

  constructor(chat: Chat, onError: (error: unknown) => void = () => undefined) {
    this.#chat = chat;
    this.#onError = onError;
  }

  write(message: UIMessage): void {
    this.#changed.set(message.id, message);
    this.#start();
  }

  clear(): void {
    this.#changed.clear();
    this.#isCleared = true;
    this.#start();
  }

  async finished(): Promise<void> {
    this.#start();
    await this.#writing;
    const [refusal] = this.#refusals;
    this.#refusals = [];
    if (refusal !== undefined) throw refusal;
  }

  #start(): void {
    if (this.#writing !== undefined) return;
    this.#writing = this.#run().finally(() => {
      this.#writing = undefined;
    });
    this.#writing.catch(this.#onError);
  }

  async #run(): Promise<void> {
    // Changes of the same moment are stored together.
    await Promise.resolve();
    while (this.#isCleared || this.#changed.size > 0) {
      if (this.#isCleared) await this.#deleteAll();
      else await this.#store();
    }
  }

  async #store(): Promise<void> {
    const taken = new Map(this.#changed);
    const messages = [...taken.values()];
    try {
      await this.#sync(messages);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // Each by itself, so that one that is refused keeps no other from being stored.
      for (const message of messages) await this.#sync([message]).catch(this.#refused);
    }
    for (const [id, message] of taken) if (this.#changed.get(id) === message) this.#changed.delete(id);
  }

  async #sync(messages: readonly UIMessage[]): Promise<void> {
    // A body that the message had before is taken for a late repeat: what differs tells them apart, and is not shown.
    const sent = messages.map((message) => ({ ...stored(message), change: newId() }));
    await this.#chat.sync("ui-message", structuredClone(sent));
  }

  readonly #refused = (error: unknown): void => {
    if (!isRefusal(error)) throw error;
    this.#refusals.push(error);
    this.#onError(error);
  };

  async #deleteAll(): Promise<void> {
    this.#isCleared = false;
    try {
      const ids: string[] = [];
      for await (const message of this.#chat.messages()) if (!message.deleted_at) ids.push(message.event_id);
      await this.#chat.deleteMessages(ids);
    } catch (error) {
      this.#isCleared = true;
      throw error;
    }
  }
}

/** Returns a message as it is stored: the AI SDK has no `content`. */
function stored({ content, ...message }: UIMessage): AnyUIMessage {
  const parts =
    message.parts.length === 0 && content !== "" ? [{ type: "text" as const, text: content }] : message.parts;
  return { ...message, parts };
}

function textOf(message: AnyUIMessage): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Returns whether a record names its session; the other fields may be missing. */
function isSession(value: unknown): value is Partial<PersistedSession> & Pick<PersistedSession, "sessionId"> {
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Partial<Record<keyof PersistedSession, unknown>>;
  const isText = (field: unknown): boolean => field === undefined || typeof field === "string";
  return Boolean(fields.sessionId) && [fields.sessionId, fields.cwd, fields.createdAt].every(isText);
}

function isMissingFile(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
