import { type Query, path } from "./request.js";
import type { Transport } from "./transport.js";

interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor?: string | null;
}

/** How much of a list is read. */
export interface ListOptions {
  /** The most that are yielded; without it, all. */
  readonly limit?: number | undefined;
  /** The most that one request reads; without it, the service decides. */
  readonly pageSize?: number | undefined;
}

/** The most that every list of the service returns in a page. */
const MAX_PAGE = 100;

/** Reads a list, page by page. */
export async function* pages<T>(
  transport: Transport,
  parts: readonly string[],
  { limit, pageSize, ...query }: ListOptions & Query,
  signal?: AbortSignal,
): AsyncGenerator<T, void> {
  let remaining = checkedLimit(limit);
  let cursor: string | null | undefined;
  while (remaining > 0 && cursor !== null) {
    const size = remaining === Infinity ? pageSize : Math.min(pageSize ?? MAX_PAGE, remaining);
    const request = { method: "GET", path: path("api", ...parts), query: { ...query, limit: size, cursor } } as const;
    const page = await transport.json<Page<T>>(request, signal);
    yield* page.data.slice(0, remaining);
    remaining -= page.data.length;
    cursor = page.next_cursor ?? null;
  }
}

/** Returns the most that a list yields. */
export function checkedLimit(limit = Infinity): number {
  if (limit === Infinity || (Number.isInteger(limit) && limit >= 0)) return limit;
  throw new RangeError(`limit is ${limit}: it must be an integer of at least 0, the most that are yielded`);
}
