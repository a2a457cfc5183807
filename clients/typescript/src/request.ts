import { checkText } from "./json.js";

/** A request that is sent until it is answered, always with the same ids. */
export interface Request {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Parameters; those without a value are left out. */
  readonly query?: Query | undefined;
  /** What is sent as JSON. */
  readonly body?: unknown;
  /** What is sent as it is, with a `content-type` among the headers. */
  readonly content?: Uint8Array<ArrayBuffer> | Blob | undefined;
  /** Statuses that are no errors, beside those of success. */
  readonly answers?: readonly number[] | undefined;
  /** How long the service is asked to wait before it answers, in milliseconds: only then the time begins in which it must answer. */
  readonly waitMs?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Is called before each attempt. */
  readonly onAttempt?: (() => void) | undefined;
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

export function isWrite(request: Request): boolean {
  return request.method !== "GET" && request.method !== "HEAD";
}

/** Returns a new random id. `crypto.randomUUID` would not do: pages without TLS do not have it. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Joins parts of a path, whatever characters they have. */
export function path(...parts: (string | number)[]): string {
  return parts.map((part) => `/${segment(String(part))}`).join("");
}

function segment(part: string): string {
  // Every client resolves these before it sends a request, so that it would reach another path.
  if (part === "" || part === "." || part === "..")
    throw new TypeError(`${JSON.stringify(part)} cannot be part of a path`);
  checkText(part, "the path");
  return encodeURIComponent(part);
}

/** Returns the parameters as they stand in a URL, with a question mark if there are any. */
export function search(query: Query = {}): string {
  for (const [name, value] of Object.entries(query)) if (typeof value === "string") checkText(value, name);
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length === 0
    ? ""
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`;
}

/** Gives an id to each record that has none, so that all may be sent again. */
export function withIds<T extends object>(records: readonly T[], idField: keyof T & string): T[] {
  return records.map((record) => (record[idField] ? record : { ...record, [idField]: newId() }));
}
