import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once as emitted } from "node:events";
import type { AddressInfo } from "node:net";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import {
  Busy,
  type Chat,
  Conflict,
  Fenced,
  InvalidRequest,
  InvalidValue,
  type Lease,
  NotFound,
  OutcomeUnknown,
  PreconditionFailed,
  Reprise,
  Unavailable,
} from "reprise-chats";
import { Line, Service, all, atEnd, closedAddress, newApp, sharedService } from "./service.js";

const HELLO = { role: "user", name: "user", content: "Hello" };

let service: Service;
before(async () => {
  service = await sharedService();
});

const client = () => new Reprise(service.url, newApp());

test("a chat is written and read", async () => {
  const reprise = client();
  const chat = await reprise.createChat("Picnic", { title: "By the lake" });
  const session = await chat.session();
  assert.equal(session.title, "By the lake");
  const stored = await chat.append([HELLO, { role: "assistant", name: "planner", content: "Where to?" }]);
  assert.deepEqual(
    stored.messages.map((it) => it.sequence),
    [0, 1],
  );
  assert.deepEqual(await contents(chat.messages({ pageSize: 1 })), ["Hello", "Where to?"]);
  const { messages } = await chat.history("openai");
  assert.deepEqual(
    messages.map((it) => it["role"]),
    ["user", "assistant"],
  );
  await chat.setContext({ place: "lake", food: "cake" });
  await chat.mergeContext({ food: null });
  assert.deepEqual(await chat.context(), { place: "lake" });
  const listed = await all(reprise.chats({ pageSize: 1 }));
  assert.deepEqual(
    listed.map((it) => it.chat_id),
    [chat.chatId],
  );
  const [call] = await chat.recordCalls({ agent: "planner", requested_model: "small", prompt_tokens: 3 });
  assert.equal(call?.duplicate, false);
  assert.deepEqual(await chat.permissions(), ["create", "read", "say", "run", "bill", "manage"]);
  const fork = await chat.fork({ sequence: 1 });
  assert.deepEqual(await contents(fork.messages()), ["Hello"]);
  await chat.deleteMessages([stored.messages[1]?.event_id ?? ""]);
  assert.deepEqual(await contents(chat.messages()), ["Hello", null]);
  await chat.update({ title: "At home" }, { ifVersion: session.session_version });
  await assert.rejects(chat.update({ title: "Nowhere" }, { ifVersion: session.session_version }), PreconditionFailed);
  assert.equal((await chat.complete()).status, "completed");
  await chat.delete();
  await assert.rejects(chat.session(), NotFound);
});

test("a list yields at most what it is asked for, in pages of the size that it is asked for", async () => {
  const reprise = client();
  const chat = await reprise.createChat("Picnic");
  await chat.append(Array.from({ length: 130 }, (_, number) => ({ ...HELLO, content: number })));
  const read = async (query: Parameters<Chat["messages"]>[0]) => (await contents(chat.messages(query))).length;
  for (const [limit, pageSize] of [
    [0, 1],
    [2, 1],
    [3, 2],
    [2, undefined],
    [101, undefined],
    [120, 50],
  ] as const) {
    assert.equal(await read({ limit, pageSize }), limit);
  }
  assert.equal(await read({ limit: 1_000 }), 130);
  assert.equal(await read({}), 130);
  for (const limit of [-1, 1.5, NaN]) {
    await assert.rejects(read({ limit }), { name: "RangeError", message: /^limit is .*: it must be an integer/ });
  }
  await assert.rejects(read({ pageSize: 0 }), InvalidRequest);
  for (const path of ["a/1", "b/1", "c/1"]) await reprise.documents.put(path, "");
  assert.deepEqual(await all(reprise.documents.namespaces(undefined, { limit: 2, pageSize: 1 })), ["a", "b"]);
  assert.equal((await all(reprise.documents.list(undefined, { limit: 2 }))).length, 2);
});

test("messages of another format are appended and synchronised", async () => {
  const chat = await client().createChat("Weather");
  const asked = { role: "user", content: "Where does it rain?" };
  const call = { id: "1", type: "function", function: { name: "look", arguments: "{}" } };
  const called = { role: "assistant", content: null, tool_calls: [call] };
  const answered = { role: "tool", tool_call_id: "1", content: "In Oslo" };
  for (const length of [1, 3, 3]) {
    const transcript = [asked, called, answered].slice(0, length);
    assert.equal((await chat.sync("openai", transcript)).last_sequence, length);
  }
  assert.deepEqual((await chat.history("openai")).messages, [asked, called, answered]);
  await chat.appendAs("openai", asked);
  await chat.appendAs("openai", asked);
  assert.equal((await contents(chat.messages())).length, 5);
});

test("refusals are errors that say what is wrong", async () => {
  const reprise = client();
  await assert.rejects(reprise.chat("no_such_chat").session(), (error) => {
    assert.ok(error instanceof NotFound);
    assert.equal(error.code, "chat-not-found");
    assert.equal(error.status, 404);
    return true;
  });
  const chat = await reprise.createChat("Picnic");
  await assert.rejects(chat.append({ content: "nobody says this" }), (error) => {
    assert.ok(error instanceof InvalidRequest);
    assert.match(error.message, /\/messages\/0\/role/);
    return true;
  });
  await chat.append({ ...HELLO, event_id: "evt-1" });
  await assert.rejects(chat.append({ ...HELLO, event_id: "evt-1", content: "Goodbye" }), (error) => {
    assert.ok(error instanceof Conflict);
    assert.equal(error.code, "event-conflict");
    return true;
  });
  await assert.rejects(chat.append(HELLO, { expectedLastSequence: 0 }), Conflict);
  await assert.rejects(reprise.chat("..").session(), TypeError);
});

test("a value that JSON does not have is refused with its pointer, and nothing is sent", async () => {
  let requests = 0;
  const fetch = (url: string, init: RequestInit) => {
    requests += 1;
    return globalThis.fetch(url, init);
  };
  const reprise = new Reprise(service.url, newApp(), { fetch });
  const chat = await reprise.createChat("Picnic");
  await chat.append({ ...HELLO, content: { 'a/"b~c': [1.5, null, "😀", { ended: new Date(0) }, undefined] } });
  requests = 0;
  const half = "lake \ud800 park";
  class Weight {
    toJSON = () => ({ kg: NaN });
  }
  const refused: [content: unknown, message: string | RegExp][] = [
    [NaN, /^\/messages\/0\/content: NaN is no number of JSON: replace it/],
    [{ "a/b~": [1, -Infinity] }, /^\/messages\/0\/content\/a~1b~0\/1: -Infinity is no number/],
    [half, /^\/messages\/0\/content: the character 5 is U\+D800, half of a character: replace it/],
    [{ [half]: 1 }, /^\/messages\/0\/content\/lake \ufffd park \(a name of a field\): the character 5/],
    [{ weight: new Weight() }, /^\/messages\/0\/content\/weight\/kg: NaN/],
    [[new Map([["a", 1]])], /^\/messages\/0\/content\/0: JSON cannot hold the kind Map/],
    [new Uint8Array(2), /^\/messages\/0\/content: JSON cannot hold the kind Uint8Array/],
    [{ count: 12n }, /^\/messages\/0\/content\/count: JSON cannot hold the BigInt 12: replace it/],
    [{ toJSON: () => [1n] }, /^\/messages\/0\/content\/0: JSON cannot hold the BigInt 1:/],
  ];
  for (const [content, message] of refused) {
    await assert.rejects(chat.append({ ...HELLO, content }), (error: unknown) => {
      assert.ok(error instanceof InvalidValue && error instanceof InvalidRequest);
      assert.match(error.message, new RegExp(message));
      assert.ok(error.message.startsWith(error.pointer));
      return true;
    });
  }
  const { documents } = reprise;
  await assert.rejects(async () => documents.put("x", { depth: [NaN] }), { name: "InvalidValue", pointer: "/depth/0" });
  await assert.rejects(async () => documents.append("x", NaN), { name: "InvalidValue", pointer: "" });
  await assert.rejects(async () => documents.put("x", half), { name: "InvalidValue", pointer: "" });
  await assert.rejects(async () => documents.put("x", { a: new Set([1]) }), { name: "InvalidValue", pointer: "/a" });
  await assert.rejects(async () => documents.put("x", [1n]), { name: "InvalidValue", pointer: "/0" });
  await assert.rejects(async () => documents.put(half, "x"), { name: "InvalidValue", pointer: "the path" });
  await assert.rejects(all(reprise.search(half)), { name: "InvalidValue", pointer: "q" });
  assert.equal(requests, 0);
  assert.equal((await contents(chat.messages())).length, 1);
});

test("a number beyond 64 bits comes back as it was", async () => {
  const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
  const content = {
    numbers: [1e20, -1e20, 2 ** 63, -(2 ** 63), 2 ** 53, 123456789012345680000, 1e-7, 0.1, -1.5e300, 1e21],
    "99999999999999999999": 'a \\" 99999999999999999999',
    small: 0.000001234567890123456789,
  };
  await chat.append({ ...HELLO, content });
  assert.deepEqual(await contents(chat.messages()), [content]);
});

test("a write whose answer is lost is stored once", async () => {
  const line = await Line.to(service);
  const reprise = new Reprise(line.url, newApp());
  line.lostAnswers = 1;
  const chat = await reprise.createChat("Picnic");
  for (let number = 0; number < 5; number += 1) {
    line.lostAnswers = number % 3;
    await chat.append({ ...HELLO, content: String(number) });
  }
  line.lostAnswers = 2;
  await chat.appendAs("ag2", { ...HELLO, content: "5" });
  assert.equal(line.lostAnswers, 0);
  assert.deepEqual(await contents(chat.messages()), ["0", "1", "2", "3", "4", "5"]);
  assert.equal((await all(reprise.chats())).length, 1);
});

test("an answer that breaks off is asked for again", async () => {
  const line = await Line.to(service);
  const chat = await new Reprise(line.url, newApp()).createChat("Picnic");
  line.brokenAfter = 200;
  const append = chat.append({ ...HELLO, content: "x".repeat(1_000) });
  await pause(300);
  line.brokenAfter = Infinity;
  assert.equal((await append).last_sequence, 1);
  assert.equal((await contents(chat.messages())).length, 1);
});

test("an outcome that stays unknown is said", async () => {
  const line = await Line.to(service);
  const app = newApp();
  const { chatId } = await new Reprise(line.url, app).createChat("Picnic");
  const impatient = new Reprise(line.url, app, { retryForMs: 500 }).chat(chatId);
  const message = { ...HELLO, event_id: "evt-1" };
  line.lostAnswers = 1_000;
  await assert.rejects(impatient.append(message), OutcomeUnknown);
  await assert.rejects(impatient.session(), Unavailable);
  line.lostAnswers = 0;
  assert.equal((await impatient.append(message)).messages[0]?.duplicate, true);
  const absent = new Reprise(await closedAddress(), app, { retryForMs: 200 });
  await assert.rejects(absent.createChat("Picnic"), Unavailable);
});

test("a service that says nothing is not waited for", async () => {
  const silent = () => new Promise<Response>(() => undefined);
  const fetch = (_: string, init: RequestInit) =>
    Promise.race([silent(), once(init.signal ?? undefined).then((reason) => Promise.reject(reason))]);
  const reprise = new Reprise(service.url, newApp(), { fetch, timeoutMs: 50, retryForMs: 200 });
  await assert.rejects(reprise.createChat("Picnic"), OutcomeUnknown);
  await assert.rejects(reprise.chat("c").session(), { name: "Unavailable", message: /nothing arrived for 50 ms/ });
});

test("an answer that comes slowly is read to its end", async () => {
  const fetch = (_: string, { signal }: RequestInit) => {
    const pieces = ['{"chat_id"', ': "slow', 'ly", "t', 'itle"', ': "x"}'];
    const body = new ReadableStream({
      async pull(controller) {
        await pause(60);
        signal?.throwIfAborted();
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(piece));
      },
    });
    return Promise.resolve(new Response(body));
  };
  const reprise = new Reprise(service.url, newApp(), { fetch, timeoutMs: 200, retryForMs: 0 });
  assert.equal((await reprise.chat("slowly").session()).title, "x");
});

test("a signal ends what is waited for, with its reason", async () => {
  const stop = new AbortController();
  const chat = (await client().createChat("Picnic")).with({ signal: stop.signal });
  const asking = chat.ask("Which lake?");
  const listening = all(chat.events());
  const reason = new Error("enough");
  setTimeout(() => {
    stop.abort(reason);
  }, 200);
  await assert.rejects(asking, reason);
  await assert.rejects(listening, reason);
  await assert.rejects(chat.session(), reason);
});

test("events arrive once and in order, however often the connection breaks", async () => {
  const line = await Line.to(service);
  const chat = await new Reprise(line.url, newApp()).createChat("Picnic");
  const numbers = Array.from({ length: 100 }, (_, number) => String(number));
  await chat.append(numbers.slice(0, 50).map((content) => ({ ...HELLO, content })));
  const listen = async () => {
    const said: unknown[] = [];
    for await (const event of chat.events()) {
      if (event.name === "message") said.push(event.data.content);
      if (said.length === numbers.length) break;
    }
    return said;
  };
  line.brokenAfter = 4_000;
  const listening = listen();
  for (const content of numbers.slice(50)) {
    if (content === "80") line.brokenAfter = Infinity;
    if (content.endsWith("0")) line.hangUp();
    await chat.append({ ...HELLO, content });
  }
  assert.deepEqual(await listening, numbers);
});

test("events go on where another listener was", async () => {
  const chat = await client().createChat("Picnic");
  await chat.append([HELLO, HELLO, HELLO]);
  const events = chat.events(0);
  const names: string[] = [];
  for await (const event of events) {
    names.push(event.name);
    if (event.name === "caught-up") break;
  }
  assert.deepEqual(names, ["message", "message", "caught-up"]);
  assert.equal(events.lastId, "2");
  await assert.rejects(all(client().chat("no_such_chat").events()), NotFound);
});

test("a lease is lost that was not renewed because the process stood still", async () => {
  const chat = await client().createChat("Picnic");
  const work = () => {
    const end = Date.now() + 700;
    while (Date.now() < end);
    return Promise.resolve("done");
  };
  await assert.rejects(chat.withLease("worker-1", work, { ttlMs: 500 }), { name: "Fenced" });
});

test("a lease is renewed while the work runs", async () => {
  const chat = await client().createChat("Picnic");
  const done = await chat.withLease(
    "worker-1",
    async (held) => {
      await pause(1_500);
      await assert.rejects(chat.acquireLease("worker-2"), (error) => {
        assert.ok(error instanceof Busy);
        assert.equal(error.problem?.holder?.owner, "worker-1");
        return true;
      });
      await held.append(HELLO);
      return "done";
    },
    { ttlMs: 600 },
  );
  assert.equal(done, "done");
  const next = await chat.acquireLease("worker-2");
  await next.release();
});

test("the loss of a lease ends the work", async () => {
  const reprise = client();
  const chat = await reprise.createChat("Picnic");
  const works: ((held: Chat, lease: Lease) => Promise<unknown>)[] = [
    (held) => held.append(HELLO),
    // No one is there to answer: the loss of the lease ends the wait.
    (held) => held.ask("Which lake?", { request_id: "ask-1" }),
    (_, lease) => pause(30_000, undefined, { signal: lease.signal }),
  ];
  for (const work of works) {
    const losing = chat.withLease(
      "worker-1",
      async (held, lease) => {
        const isWrite = work === works[0];
        const working = isWrite ? undefined : work(held, lease);
        await pause(100);
        const path = `/api/chats/${chat.appId}/${chat.chatId}/lease/${lease.fencingToken}`;
        await reprise.request("DELETE", path);
        await (working ?? work(held, lease));
      },
      { ttlMs: 600 },
    );
    await assert.rejects(losing, Fenced);
  }
  assert.equal((await contents(chat.messages())).length, 0);
});

test("a lease that cannot be renewed is lost, and the work with it", async () => {
  const refuse = (status: number) => () => Promise.resolve(new Response("", { status }));
  const hang = (_: string, { signal }: RequestInit) =>
    once(signal ?? undefined).then((reason) => Promise.reject<Response>(reason));
  const faults = [
    { renewal: refuse(401), lost: /no longer be renewed: the service answered with 401/, beforeMs: 900 },
    { renewal: refuse(403), lost: /no longer be renewed: the service answered with 403/, beforeMs: 900 },
    { renewal: refuse(503), lost: /not renewed for 900 ms/, beforeMs: 1_800 },
    { renewal: hang, lost: /not renewed for 900 ms/, beforeMs: 1_800 },
  ];
  for (const { renewal, lost, beforeMs } of faults) {
    let isBroken = false;
    const fetch = (url: string, init: RequestInit) =>
      isBroken && init.method === "PUT" ? renewal(url, init) : globalThis.fetch(url, init);
    const chat = await new Reprise(service.url, newApp(), { fetch }).createChat("Picnic");
    const begun = Date.now();
    const work = async (_: Chat, lease: Lease) => {
      isBroken = true;
      await once(lease.signal);
      const took = Date.now() - begun;
      assert.ok(took < beforeMs, `it was lost after ${took} ms`);
      assert.ok(lease.signal.reason instanceof Fenced);
      return "done";
    };
    await assert.rejects(chat.withLease("worker-1", work, { ttlMs: 900 }), { name: "Fenced", message: lost });
  }
});

test("a lease outlives faults that are shorter than its time", async () => {
  let faults = 2;
  const fetch = (url: string, init: RequestInit) =>
    init.method === "PUT" && faults-- > 0
      ? Promise.resolve(new Response("", { status: 503 }))
      : globalThis.fetch(url, init);
  const chat = await new Reprise(service.url, newApp(), { fetch, retryForMs: 0 }).createChat("Picnic");
  const lease = await chat.acquireLease("worker-1", { ttlMs: 1_500 });
  await pause(3_000);
  assert.equal(lease.signal.aborted, false);
  await lease.release();
});

test("a lease is released when its work is stopped", async () => {
  const stop = new AbortController();
  const chat = await client().createChat("Picnic");
  const reason = new Error("enough");
  const working = chat.with({ signal: stop.signal }).withLease("worker-1", async (held) => {
    setTimeout(() => {
      stop.abort(reason);
    }, 100);
    await held.ask("Which lake?");
  });
  await assert.rejects(working, reason);
  const next = await chat.acquireLease("worker-2");
  await next.release();
});

test("a lease whose request is ended is not kept", async () => {
  for (let number = 0; number < 10; number += 1) {
    const chat = await new Reprise(service.url, newApp()).createChat("Picnic");
    const stop = new AbortController();
    const acquiring = chat.with({ signal: stop.signal }).acquireLease("worker");
    await pause(number % 4);
    stop.abort();
    await acquiring.then((lease) => lease.release()).catch(() => undefined);
    const lease = await chat.acquireLease("another", { waitMs: 10_000 });
    await lease.release();
  }
});

test("an address that is none is refused at once, and one without a service says why it was not reached", async () => {
  for (const address of ["localhost:8080", "127.0.0.1:8080", "", "ftp://example.org"]) {
    assert.throws(() => new Reprise(address, "acme_corp"), /must begin with http:\/\/ or https:\/\//);
  }
  const refused = { name: "TypeError", message: /holds a (user name or a password.*token|query or a fragment)/ };
  for (const rest of ["alice:secret@lake", "alice@lake", "lake?x=1", "lake#x", "lake?"]) {
    assert.throws(() => new Reprise(`http://${rest}`, "acme_corp"), refused);
  }
  assert.throws(
    () => new Reprise("http://alice:secret@lake", "acme_corp"),
    (error: Error) => !error.message.includes("secret"),
  );
  await assert.rejects(client().request("GET", "api/health/ready"), {
    name: "TypeError",
    message: 'the path is "api/health/ready": it must begin with a slash, such as /api/health/ready',
  });
  const unreached = new Reprise("http://127.0.0.1:1", "acme_corp", { retryForMs: 100 });
  await assert.rejects(unreached.createChat("Picnic"), /ECONNREFUSED|bad port/);
});

test("a lease whose release has failed is released again", async () => {
  const unbroken = await client().createChat("Picnic");
  let fails = true;
  const fetch: typeof globalThis.fetch = (url, init) => {
    if (fails && init?.method === "DELETE") return Promise.reject(new TypeError("cut off"));
    return globalThis.fetch(url, init);
  };
  const broken = new Reprise(service.url, unbroken.appId, { fetch, retryForMs: 0 });
  const lease = await broken.chat(unbroken.chatId).acquireLease("worker-1");
  await assert.rejects(lease.release());
  fails = false;
  await lease.release();
  await lease.release();
  await (await unbroken.acquireLease("worker-2")).release();
});

test("events end with the error of the function that returns the token", async () => {
  const token = () => Promise.reject(new Error("session expired"));
  const chat = new Reprise(service.url, newApp(), { token }).chat("chat");
  await assert.rejects(async () => {
    for await (const event of chat.events()) assert.fail(event.name);
  }, /session expired/);
});

test("a lease is waited for", async () => {
  const chat = await client().createChat("Picnic");
  const first = await chat.acquireLease("worker-1");
  setTimeout(() => void first.release(), 300);
  const second = await chat.acquireLease("worker-2", { waitMs: 10_000 });
  assert.ok(second.fencingToken > first.fencingToken);
  assert.equal(await second.renew(), true);
  await second.release();
  assert.equal(second.signal.aborted, false);
});

test("a turn is written at its end, whichever way it ends", async () => {
  const stop = new AbortController();
  const chat = (await client().createChat("Picnic")).with({ signal: stop.signal });
  const result = await chat.turn(async (turn) => {
    turn.say("user", "Hello", { name: "user" });
    await turn.step("llm", { assistant_id: "planner" }, async () => {
      await pause(1);
      turn.say("assistant", "Where to?", { name: "planner" });
    });
    return turn;
  });
  assert.equal(result.stored?.messages.length, 2);
  assert.equal((await chat.resume()).action, "nothing_to_do");

  const division = new Error("by zero");
  const failing = chat.turn(
    async (turn) => {
      turn.say("user", "Divide.", { name: "user" });
      await turn.step("tool", { assistant_id: "planner", input: { by: 0 } }, () => Promise.reject(division));
    },
    { request_id: "req-2" },
  );
  await assert.rejects(failing, division);
  const retry = await chat.resume();
  assert.equal(retry.action, "retry");
  assert.equal(retry.step?.type, "tool");
  assert.equal(retry.step.error, "Error: by zero");

  const stopped = chat.turn(async (turn) => {
    turn.beginStep("llm", { assistant_id: "planner" });
    stop.abort(new Error("enough"));
    stop.signal.throwIfAborted();
    return pause(0);
  });
  await assert.rejects(stopped, /enough/);
  assert.equal((await chat.with({ signal: undefined }).resume()).action, "continue");
});

test("a turn that fails before anything is said has one failed step", async () => {
  const chat = await client().createChat("Picnic");
  // Half of a character, as a text has it that was cut off.
  const down = new Error("the model is down \ud83d");
  await assert.rejects(
    chat.turn(() => Promise.reject(down)),
    down,
  );
  const { action, step } = await chat.resume();
  assert.deepEqual([action, step?.type, step?.error], ["retry", "llm", "Error: the model is down \ufffd"]);
  const nothing = await chat.turn(async (turn) => {
    await turn.step("tool", {}, () => Promise.resolve());
    return turn;
  });
  assert.equal(nothing.stored, undefined);
});

test("a question waits for its answer and survives its asker", async () => {
  const reprise = client();
  const chat = await reprise.createChat("Picnic");
  const asked = await chat.ask("Which lake?", { request_id: "ask-1", waitMs: 0 });
  assert.equal(asked.state, "pending");
  const pending = await all(reprise.pendingQuestions());
  assert.deepEqual(
    pending.map((it) => it.request_id),
    ["ask-1"],
  );
  setTimeout(() => void chat.answer("ask-1", "The big one"), 300);
  const question = await chat.ask("Which lake?", { request_id: "ask-1" });
  assert.equal(question.answer?.content, "The big one");
});

test("a question is waited for with any timeout, for as long as the caller says", async () => {
  for (const timeoutMs of [400, 2_500]) {
    const reprise = new Reprise(service.url, newApp(), { timeoutMs, retryForMs: 500 });
    const chat = await reprise.createChat("Picnic");
    const begun = Date.now();
    assert.equal((await chat.ask("Which lake?", { waitMs: 3_000 })).state, "pending");
    const took = Date.now() - begun;
    assert.ok(took >= 2_500 && took < 5_000, `it took ${took} ms`);
    setTimeout(() => void chat.answer("ask-1", "The big one"), 2_000);
    assert.equal((await chat.ask("Which lake?", { request_id: "ask-1" })).answer?.content, "The big one");
  }
});

test("a restart of the service is not seen", async () => {
  const restarted = await Service.started();
  const chat = await new Reprise(restarted.url, newApp()).createChat("Picnic");
  const said: unknown[] = [];
  const listen = async () => {
    for await (const event of chat.events()) {
      if (event.name === "message") said.push(event.data.content);
      if (said.length === 2) break;
    }
  };
  await chat.append({ ...HELLO, content: "before" });
  const listening = listen();
  const restarting = restarted.restart();
  await pause(200);
  await chat.append({ ...HELLO, content: "after" });
  await Promise.all([restarting, listening]);
  assert.deepEqual(said, ["before", "after"]);
});

test("a redirect is an error that names the new address, and nothing is written or repeated", async () => {
  const chat = await client().createChat("Picnic");
  for (const status of [301, 302, 303, 307, 308]) {
    const { address, requests } = await redirecting(status);
    const redirected = new Reprise(address, chat.appId);
    const error = { name: "RepriseError", status, message: new RegExp(`to ${service.url}/api/.* final address`) };
    await assert.rejects(redirected.chat(chat.chatId).append(HELLO), error);
    await assert.rejects(redirected.createChat("Picnic", { chat_id: `c${status}` }), error);
    await assert.rejects(redirected.documents.append("notes/lake", "towels"), error);
    await assert.rejects(redirected.chat(chat.chatId).session(), error);
    await assert.rejects(all(redirected.chat(chat.chatId).events()), error);
    assert.equal(requests(), 5);
  }
  assert.deepEqual(await contents(chat.messages()), []);
});

test("a redirect that a browser hides is an error that says what to do", async () => {
  const hidden = { type: "opaqueredirect", status: 0, headers: new Headers(), body: null } as Response;
  const reprise = new Reprise(service.url, newApp(), { fetch: () => Promise.resolve(hidden) });
  await assert.rejects(reprise.createChat("Picnic"), {
    name: "RepriseError",
    message: /another address.*final address/,
  });
});

/** Starts a server that redirects every request to the service; returns its address, and how many requests it has had. */
async function redirecting(status: number): Promise<{ address: string; requests: () => number }> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume().on("end", () => {
      response.writeHead(status, { location: service.url + (request.url ?? "") }).end();
    });
  }).listen(0, "127.0.0.1");
  await emitted(server, "listening");
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

async function contents(messages: AsyncIterable<{ content: unknown }>): Promise<unknown[]> {
  return (await all(messages)).map((message) => message.content);
}

/** Waits until a signal is aborted; returns its reason. */
async function once(signal: AbortSignal | undefined): Promise<Error> {
  return new Promise((resolve) =>
    signal?.addEventListener("abort", () => {
      resolve(signal.reason as Error);
    }),
  );
}
