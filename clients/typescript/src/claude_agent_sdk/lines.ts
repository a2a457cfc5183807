/** Entries of a session as JSON lines. */
import type { SessionStoreEntry } from "@anthropic-ai/claude-agent-sdk";
import { MAX_BODY } from "../documents.js";

/** Returns entries as lines. */
export function lines(entries: readonly SessionStoreEntry[]): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
}

/** Returns the entries of lines. */
export function entriesOf(bytes: Uint8Array): SessionStoreEntry[] {
  const texts = new TextDecoder().decode(bytes).split("\n");
  return texts.filter((text) => text !== "").map((text) => JSON.parse(text) as SessionStoreEntry);
}

/** Returns the ids of entries. */
export function uuidsOf(entries: readonly SessionStoreEntry[]): Set<string> {
  return new Set(entries.map(({ uuid }) => uuid).filter((uuid) => uuid !== undefined));
}

/** Yields entries in parts that one write can hold. */
export function* batches(entries: readonly SessionStoreEntry[]): Generator<SessionStoreEntry[], void> {
  let batch: SessionStoreEntry[] = [];
  let size = 0;
  for (const entry of entries) {
    const { length } = lines([entry]);
    if (batch.length > 0 && size + length > MAX_BODY) {
      yield batch;
      [batch, size] = [[], 0];
    }
    batch.push(entry);
    size += length;
  }
  yield batch;
}
