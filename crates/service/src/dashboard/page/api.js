// Requests to the API. Every failure is thrown as a `Problem`, with a title and a detail to show.

const TOKEN = "reprise.token";
/** The most records of a page, as the API has it. */
const MAX_LISTED = 100;

/** A failure of a request: a problem document of the API (RFC 9457), or a connection that failed. */
export class Problem extends Error {
  constructor({ title, detail, status = 0, code = "", ...more }) {
    super(title);
    const { http_request_id: requestId = null, input_request: inputRequest = null } = more;
    // Each names a part of the body or a parameter, and what is wrong with it.
    const errors = Array.isArray(more.errors) ? more.errors : [];
    Object.assign(this, { title, detail, status, code, requestId, inputRequest, errors });
  }

  /** Whether another token would help. */
  get wantsToken() {
    return this.status === 401 || this.status === 403;
  }
}

// The token is kept in session storage: it is gone when the tab is closed, or when the user removes it.
export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (text) => sessionStorage.setItem(TOKEN, text),
  forget: () => sessionStorage.removeItem(TOKEN),
};

/** How the browser is signed in: `can_sign_in`, and `session` or null. */
let signIn = { can_sign_in: false, session: null };

export const session = {
  /** The person who is signed in, or null. */
  get: () => signIn.session,
  canBegin: () => signIn.can_sign_in,
  /** Asks the service who is signed in; a service that does not answer is reported by the next request. */
  async load() {
    try {
      signIn = await get("api/session");
    } catch {
      signIn = { can_sign_in: false, session: null };
    }
  },
  /** Where to sign in, and to come back to this view. */
  address: () => query("api/sign-in", { return_to: location.pathname + location.hash }),
  async end() {
    await send("api/sign-out", {}, undefined, { method: "POST" });
    await session.load();
  },
};

/** The apps that the token or the session of the caller names; null if it names none, or all. */
export function namedApps() {
  const apps = token.get() ? claims(token.get()).apps : signIn.session?.apps;
  // The text "*" stands for all.
  return Array.isArray(apps) && apps.length > 0 && !apps.includes("*") ? apps.map(String) : null;
}

/** What a token says, unverified: enough to know what to offer, while the service decides. Empty if it is no JWT. */
function claims(text) {
  try {
    const [, payload] = text.split(".");
    const bytes = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (it) => it.charCodeAt(0)))) ?? {};
  } catch {
    return {};
  }
}

/** Builds a path of the API; the names in it may have any characters. */
export function path(parts, ...names) {
  // Browsers resolve `.` and `..` in a path even if they are percent-encoded.
  if (names.some((name) => name === "." || name === "..")) {
    throw new Problem({ title: "Not shown", detail: "This name cannot be part of a URL." });
  }
  return String.raw({ raw: parts }, ...names.map(encodeURIComponent));
}

/** Adds those parameters that have a value. */
export function query(base, parameters) {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return given.length ? `${base}?${new URLSearchParams(given)}` : base;
}

/** Requests JSON, and returns it. */
export async function get(address, signal) {
  return parse(await ask(address, signal));
}

/** Requests JSON, and returns it with every number as it was written. */
export async function getExact(address, signal) {
  return parseExact(await ask(address, signal));
}

/** Sends JSON, and returns the JSON of the response. */
export async function post(address, body, signal) {
  return change("POST", address, body, signal);
}

/** Sends JSON with a method, and returns the JSON of the response; null if it has no content. */
export async function change(method, address, body, signal) {
  const headers = { accept: "application/json", "content-type": "application/json" };
  const response = await send(address, headers, signal, { method, body: JSON.stringify(body) });
  const text = await reached(() => response.text(), signal);
  return text === "" ? null : parse(text);
}

/** Requests JSON, and returns its text as it was sent. */
export async function getText(address, signal) {
  return ask(address, signal);
}

/** Parses JSON with every number as it was written: beyond 2^53 JavaScript would round it. */
export function parseExact(text) {
  return parse(text, (key, value, context) => {
    const isRounded = typeof value === "number" && context?.source !== String(value);
    return isRounded && JSON.rawJSON && context?.source ? JSON.rawJSON(context.source) : value;
  });
}

/** Yields the text of a response in pieces, as it arrives, until it ends. */
export async function* pieces(address, headers, signal) {
  const response = await send(address, headers, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reached(() => reader.read(), signal);
    if (done) return;
    yield value;
  }
}

/** Requests up to `wanted` pages by `next_cursor`, and joins their lists named `field`. */
export async function pages(base, field, wanted, signal, parameters = {}) {
  const first = await get(query(base, parameters), signal);
  let answer = first;
  const items = [...answer[field]];
  for (let page = 1; page < wanted && answer.next_cursor; page += 1) {
    answer = await get(query(base, { ...parameters, cursor: answer.next_cursor }), signal);
    items.push(...answer[field]);
  }
  return { first, items, hasMore: Boolean(answer.next_cursor) };
}

/**
 * A list that the API returns newest first. It keeps the records that were read, because they do not change.
 * `keyOf` tells the records apart, and `timeOf` returns the time by which they are ordered.
 */
export function newestFirst(address, { keyOf, timeOf, signal }) {
  const kept = new Map();
  let sorted = null;
  let cursor = null;
  /** All records after this time are kept. */
  let since = Infinity;
  let pagesRead = 0;

  const read = (from) => get(query(address, { limit: MAX_LISTED, cursor: from }), signal);

  /** Reads the newest records again, and returns their page. */
  async function refresh() {
    const page = await read(null);
    // Without an overlap there may be records between these and the older ones.
    if (!page.data.some((it) => kept.has(keyOf(it)))) {
      kept.clear();
      pagesRead = 0;
      goOn(page);
    }
    keep(page);
    return page;
  }

  /** Reads a page of older records. */
  async function more() {
    const from = cursor;
    const page = await read(from);
    // Another reader may have been faster.
    if (cursor === from) goOn(page);
    keep(page);
  }

  function goOn({ data, next_cursor: next }) {
    cursor = next;
    pagesRead += 1;
    if (next === null) since = -Infinity;
    else if (data.length > 0) since = timeOf(data.at(-1));
  }

  function keep({ data }) {
    for (const it of data) kept.set(keyOf(it), it);
    sorted = null;
  }

  /** Reads older records until all after a time are kept, or `mostPages` have been read. */
  async function readBack(time, mostPages) {
    while (since > time && pagesRead < mostPages) await more();
  }

  return {
    refresh,
    more,
    readBack,
    has: (key) => kept.has(key),
    get: (key) => kept.get(key),
    since: () => since,
    hasMore: () => since > -Infinity,
    /** Returns the records that were read, newest first. */
    newest: () => (sorted ??= [...kept.values()].sort((a, b) => timeOf(b) - timeOf(a))),
  };
}

async function ask(address, signal) {
  const response = await send(address, { accept: "application/json" }, signal);
  return reached(() => response.text(), signal);
}

/** Sends a request; throws if it is refused. */
async function send(address, headers, signal, request = {}) {
  // A token counts more than the session of the browser, which is then not sent.
  const isSignedIn = !token.get();
  if (!isSignedIn) headers.authorization = `Bearer ${token.get()}`;
  if (isSignedIn && signIn.session) headers["x-csrf-token"] = signIn.session.csrf_token;
  const credentials = isSignedIn ? "same-origin" : "omit";
  const options = { ...request, headers, signal, credentials, redirect: "error" };
  const response = await reached(() => fetch(address, options), signal);
  if (response.ok) return response;
  throw problem(response, await reached(() => response.text(), signal));
}

async function reached(work, signal) {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted) throw error;
    const detail = "The service did not answer. The page keeps trying.";
    throw new Problem({ title: "Service unreachable", detail });
  }
}

function problem(response, text) {
  let body = {};
  if (response.headers.get("content-type")?.includes("json")) body = parse(text);
  const title = body.title ?? `The service responded with ${response.status}`;
  return new Problem({ ...body, title, detail: body.detail ?? "", status: response.status });
}

function parse(text, reviver) {
  try {
    return JSON.parse(text, reviver);
  } catch {
    throw new Problem({ title: "Invalid response", detail: "The response is not JSON." });
  }
}
