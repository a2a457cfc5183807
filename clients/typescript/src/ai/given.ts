import type { UIMessageChunk } from "ai";
import { DELTAS } from "../whole_characters.js";

/** A chunk, or neighbouring chunks that continue one text, joined. */
interface Entry {
  /** What an equal chunk has, too, but for the text. */
  readonly key: string;
  /** The field with the text; `undefined` for a chunk that continues none. */
  readonly textField: string | undefined;
  text: string;
}

/**
 * The chunks that were given of an answer, to leave them out where the answer is repeated.
 *
 * A repetition has the deltas of a text joined, or not.
 */
export class Given {
  readonly #entries: Entry[] = [];
  /** How far the repetition has come: the entries, and how much of the text of the next one. */
  #at = 0;
  #length = 0;

  /** Whether everything that was given was repeated. */
  get isRepeated(): boolean {
    const next = this.#entries[this.#at];
    return next === undefined || (this.#at === this.#entries.length - 1 && this.#isTextRepeated(next));
  }

  /** The answer comes from its beginning again. */
  repeat(): void {
    this.#at = this.#length = 0;
  }

  /** Returns what is new of a chunk, if anything is, and remembers it. Throws if another answer is repeated. */
  rest(chunk: UIMessageChunk): UIMessageChunk | undefined {
    const read = entryOf(chunk);
    let entry = this.#entries[this.#at];
    if (entry !== undefined && entry.key !== read.key && this.#isTextRepeated(entry)) entry = this.#next();
    if (entry === undefined) {
      this.#entries.push(read);
      if (read.textField === undefined) this.#next();
      else this.#length = read.text.length;
      return chunk;
    }
    if (entry.key !== read.key) throw begunAgain();
    if (read.textField === undefined) {
      this.#next();
      return undefined;
    }
    const remaining = entry.text.slice(this.#length);
    if (remaining.startsWith(read.text)) {
      this.#length += read.text.length;
      return undefined;
    }
    if (!read.text.startsWith(remaining) || this.#at < this.#entries.length - 1) throw begunAgain();
    const rest = read.text.slice(remaining.length);
    entry.text += rest;
    this.#length = entry.text.length;
    return { ...chunk, [read.textField]: rest };
  }

  #next(): Entry | undefined {
    this.#at += 1;
    this.#length = 0;
    return this.#entries[this.#at];
  }

  #isTextRepeated({ textField, text }: Entry): boolean {
    return textField !== undefined && this.#length === text.length;
  }
}

function entryOf(chunk: UIMessageChunk): Entry {
  const fields = chunk as unknown as Readonly<Record<string, unknown>>;
  const [id, textField] = DELTAS[chunk.type] ?? [];
  // The service joins those that have nothing else.
  if (id !== undefined && textField !== undefined && Object.keys(fields).length === 3) {
    const text = fields[textField];
    if (typeof text === "string") return { key: JSON.stringify([chunk.type, fields[id]]), textField, text };
  }
  return { key: JSON.stringify(chunk), textField: undefined, text: "" };
}

/** The AI SDK takes this error for that of a connection that is lost, after which it shows the answer from its beginning. */
export function begunAgain(): Error {
  return new TypeError("network: another agent has begun the answer again; resume the stream to see it");
}
