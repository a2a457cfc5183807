// Asks the API. Whatever goes wrong is thrown as a `Problem`, with a title and a detail to show.

const TOKEN = "reprise.token";

/** What the API, or the way to it, says is wrong (RFC 9457). */
export class Problem extends Error {
  constructor({ title, detail, status = 0, type = "", ...more }) {
    super(title);
    const { request_id: requestId = null, input_request: inputRequest = null } = more;
    Object.assign(this, { title, detail, status, type, requestId, inputRequest });
  }

  /** Whether another token would help. */
  get wantsToken() {
    return this.status === 401 || this.status === 403;
  }
}

// Gone with the tab: a token outlives neither it nor the reader's wish.
export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (text) => sessionStorage.setItem(TOKEN, text),
  forget: () => sessionStorage.removeItem(TOKEN),
};

/** Makes a path of the API; what stands between its fixed parts may hold any character. */
export function path(parts, ...names) {
  // Browsers resolve these, however they are encoded.
  if (names.some((name) => name === "." || name === "..")) {
    throw new Problem({ title: "Not shown", detail: "This name cannot be part of an address." });
  }
  return String.raw({ raw: parts }, ...names.map(encodeURIComponent));
}

/** Adds what is there of the parameters. */
export function query(base, parameters) {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return given.length ? `${base}?${new URLSearchParams(given)}` : base;
}

/** Returns the answer's JSON. */
export async function get(address, signal) {
  return parse(await ask(address, signal));
}

/** The same, with every number as it was written. */
export async function getExact(address, signal) {
  return parseExact(await ask(address, signal));
}

/** Sends JSON; returns that of the answer. */
export async function post(address, body, signal) {
  const headers = { accept: "application/json", "content-type": "application/json" };
  const request = { method: "POST", body: JSON.stringify(body) };
  const response = await send(address, headers, signal, request);
  return parse(await reached(() => response.text(), signal));
}

/** Parses JSON with every number as it was written: beyond 2^53 JavaScript would round it. */
export function parseExact(text) {
  return parse(text, (key, value, context) => {
    const isRounded = typeof value === "number" && context?.source !== String(value);
    return isRounded && JSON.rawJSON && context?.source ? JSON.rawJSON(context.source) : value;
  });
}

/** Hands on an answer's text as it comes, in pieces, until it ends. */
export async function* pieces(address, headers, signal) {
  const response = await send(address, headers, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reached(() => reader.read(), signal);
    if (done) return;
    yield value;
  }
}

/** Follows `next_cursor` through so many pages; what `field` names in them is put together. */
export async function pages(base, field, wanted, signal) {
  const first = await get(base, signal);
  let answer = first;
  const items = [...answer[field]];
  for (let page = 1; page < wanted && answer.next_cursor; page += 1) {
    answer = await get(query(base, { cursor: answer.next_cursor }), signal);
    items.push(...answer[field]);
  }
  return { first, items, hasMore: Boolean(answer.next_cursor) };
}

async function ask(address, signal) {
  const response = await send(address, { accept: "application/json" }, signal);
  return reached(() => response.text(), signal);
}

/** Sends a request; a refusal is thrown. */
async function send(address, headers, signal, request = {}) {
  if (token.get()) headers.authorization = `Bearer ${token.get()}`;
  const options = { ...request, headers, signal, credentials: "omit", redirect: "error" };
  const response = await reached(() => fetch(address, options), signal);
  if (response.ok) return response;
  throw problem(response, await reached(() => response.text(), signal));
}

async function reached(work, signal) {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted) throw error;
    const detail = "The service did not answer. The page goes on trying.";
    throw new Problem({ title: "Out of reach", detail });
  }
}

function problem(response, text) {
  let body = {};
  if (response.headers.get("content-type")?.includes("json")) body = parse(text);
  const title = body.title ?? `Answered with ${response.status}`;
  return new Problem({ ...body, title, detail: body.detail ?? "", status: response.status });
}

function parse(text, reviver) {
  try {
    return JSON.parse(text, reviver);
  } catch {
    throw new Problem({ title: "Not understood", detail: "The answer is not JSON." });
  }
}
