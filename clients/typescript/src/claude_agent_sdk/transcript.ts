import type { SessionStoreEntry } from "@anthropic-ai/claude-agent-sdk";
import { entriesOf, uuidsOf } from "./lines.js";

/** What a process knows of a stored transcript. */
export class Transcript {
  /** Where the document ends, as far as it is known. */
  end = 0;
  /** By which the document is recognised when it is read again. */
  #lastLine = new Uint8Array();
  #uuids = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();

  get lastLineStart(): number {
    return this.end - this.#lastLine.length;
  }

  /** Runs a function after those that were given before. */
  exclusively<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(run);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  clear(): void {
    this.end = 0;
    this.#lastLine = new Uint8Array();
    this.#uuids.clear();
  }

  /** Tells whether entries with these ids may be stored already, by this process or another one. */
  mayHave(uuids: Set<string>): boolean {
    return uuids.size > 0 && (this.end === 0 || [...uuids].some((uuid) => this.#uuids.has(uuid)));
  }

  /** Returns the entries whose ids are not stored, each id once. */
  withoutStored(entries: readonly SessionStoreEntry[]): SessionStoreEntry[] {
    const seen = new Set(this.#uuids);
    return entries.filter(({ uuid }) => {
      const isNew = uuid === undefined || !seen.has(uuid);
      if (uuid !== undefined) seen.add(uuid);
      return isNew;
    });
  }

  /** Takes lines over that were stored at an offset; not if others have appended before them. */
  extend(offset: number, added: Uint8Array<ArrayBuffer>): void {
    if (offset === this.end) this.read(offset, added);
  }

  /** Takes over what was read: lines from a place to the end of the document. */
  read(start: number, found: Uint8Array<ArrayBuffer>): void {
    this.end = start + found.length;
    this.#lastLine = found.slice(found.lastIndexOf(NEWLINE, -2) + 1);
    for (const uuid of uuidsOf(entriesOf(found))) this.#uuids.add(uuid);
  }

  /** Tells whether what begins at the last line has this line. */
  continues(found: Uint8Array): boolean {
    return this.#lastLine.every((byte, index) => found[index] === byte);
  }
}

const NEWLINE = 10;
