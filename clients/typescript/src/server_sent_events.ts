/** An event of a stream, as it was sent. */
export interface ServerSentEvent {
  readonly name: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Puts pieces of a stream of server-sent events together, wherever they are cut. */
export class ServerSentEvents {
  /** How long the service asks to wait before the next connection. */
  retryMs: number | undefined;
  #rest = "";
  #name = "";
  #id: string | undefined;
  #data: string[] = [];

  /** Adds a piece; returns the events that it ends. */
  *add(text: string): Generator<ServerSentEvent, void> {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.#addField(line);
      else if (this.#data.length > 0) yield this.#event();
      else this.#begin();
    }
  }

  #addField(line: string): void {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id") this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
  }

  #event(): ServerSentEvent {
    const event = { name: this.#name || "message", data: this.#data.join("\n"), id: this.#id };
    this.#begin();
    return event;
  }

  #begin(): void {
    this.#name = "";
    this.#id = undefined;
    this.#data = [];
  }
}
