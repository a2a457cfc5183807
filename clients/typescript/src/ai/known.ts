import type { UIMessage } from "ai";
import type { Chat } from "../chat.js";

/** The ids of the messages of one load. */
type Ids = ReadonlySet<string>;

/** How many chats the ids of their last loads are remembered for: a server loads many. */
const MAX_REMEMBERED = 100;

/** The loads that messages came with. */
const loads = new WeakMap<UIMessage, Ids>();
/** The last load of each chat, the newest at the end. */
const lastLoads = new Map<string, Ids>();

/** Remembers which messages were loaded together. */
export function rememberLoad(chat: Chat, messages: readonly UIMessage[]): void {
  const ids = new Set(messages.map(({ id }) => id));
  for (const message of messages) loads.set(message, ids);
  const key = keyOf(chat);
  lastLoads.delete(key);
  lastLoads.set(key, ids);
  for (const oldest of lastLoads.keys()) {
    if (lastLoads.size <= MAX_REMEMBERED) break;
    lastLoads.delete(oldest);
  }
}

/** Returns the ids of what was loaded together with messages: a page that regenerates or edits has removed some of it. */
export function loadedWith(chat: Chat, messages: readonly UIMessage[]): string[] {
  const found = new Set(messages.map((message) => loads.get(message)).filter((ids) => ids !== undefined));
  // A first message that is edited is a new object.
  const last = lastLoads.get(keyOf(chat));
  if (found.size === 0 && last !== undefined && messages.length > 0) found.add(last);
  return [...found].flatMap((ids) => [...ids]);
}

function keyOf({ appId, chatId }: Chat): string {
  return `${appId}/${chatId}`;
}
