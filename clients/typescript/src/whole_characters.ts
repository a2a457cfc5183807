/** The chunks of the AI SDK that continue a text, with the names of their id and of their text. */
export const DELTAS: Readonly<Record<string, readonly [id: string, text: string]>> = {
  "text-delta": ["id", "delta"],
  "reasoning-delta": ["id", "delta"],
  "tool-input-delta": ["toolCallId", "inputTextDelta"],
};

/** What stands for half of a character whose other half is missing. */
const REPLACEMENT = "\ufffd";

/** Returns a text in which each half of a character is replaced. */
export function wholeText(text: string): string {
  return text.replace(/\p{Surrogate}/gu, REPLACEMENT);
}

/** The end of a text that waits for its next chunk. */
interface Held {
  readonly half: string;
  /** The chunk that ends the text without it. */
  readonly replacement: unknown;
}

/** Keeps characters whole that a provider has cut in half between two chunks: the service refuses half of a character. */
export class WholeCharacters {
  /** By the texts that they belong to. */
  readonly #held = new Map<string, Held>();

  /** Returns what is to be written for a chunk. */
  add(chunk: unknown): unknown[] {
    const { key, text, withText } = read(chunk);
    const held = this.#held.get(key);
    this.#held.delete(key);
    if (text === undefined) return held === undefined ? [chunk] : [held.replacement, chunk];
    const whole = (held?.half ?? "") + text;
    const half = /[\ud800-\udbff]$/.exec(whole)?.[0] ?? "";
    if (half !== "") this.#held.set(key, { half, replacement: withText(REPLACEMENT) });
    const written = wholeText(whole.slice(0, whole.length - half.length));
    return [written === text ? chunk : withText(written)];
  }

  /** Returns what is to be written at the end of the stream. */
  end(): unknown[] {
    const replacements = [...this.#held.values()].map(({ replacement }) => replacement);
    this.#held.clear();
    return replacements;
  }
}

/** Returns which text a chunk belongs to, and what it adds to it; `undefined` if it adds nothing, and perhaps ends it. */
function read(chunk: unknown): { key: string; text?: string; withText: (text: string) => unknown } {
  if (typeof chunk === "string") return { key: "", text: chunk, withText: (text) => text };
  const fields = { ...(chunk as Readonly<Record<string, unknown>> | null) };
  const type = String(fields["type"]);
  const key = JSON.stringify([type.split("-", 1), fields["id"] ?? fields["toolCallId"]]);
  const [, textField] = DELTAS[type] ?? [];
  const text = textField === undefined ? undefined : fields[textField];
  if (textField === undefined || typeof text !== "string") return { key, withText: () => chunk };
  return { key, text, withText: (changed) => ({ ...fields, [textField]: changed }) };
}
