import { type Query, path } from "./request.js";
import type { Transport } from "./transport.js";

interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor?: string | null;
}

/** Reads a list, page by page. */
export async function* pages<T>(
  transport: Transport,
  parts: readonly string[],
  query: Query,
  signal?: AbortSignal,
): AsyncGenerator<T, void> {
  let cursor: string | null | undefined;
  do {
    const request = { method: "GET", path: path("api", ...parts), query: { ...query, cursor } } as const;
    const page = await transport.json<Page<T>>(request, signal);
    yield* page.data;
    cursor = page.next_cursor;
  } while (cursor !== undefined && cursor !== null);
}
