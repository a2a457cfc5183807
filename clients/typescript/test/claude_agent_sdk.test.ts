import assert from "node:assert/strict";
import { before, test } from "node:test";
import {
  InMemorySessionStore,
  type SessionKey,
  type SessionStoreEntry,
  type SessionSummaryEntry,
  deleteSession,
  foldSessionSummary,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  listSessions,
  listSubagents,
  renameSession,
  tagSession,
} from "@anthropic-ai/claude-agent-sdk";
import { Reprise } from "reprise-chats";
import { RepriseSessionStore } from "reprise-chats/claude-agent-sdk";
import { Line, type Service, newApp, sharedService } from "./service.js";

let service: Service;
before(async () => {
  service = await sharedService();
});

const newStore = () => new RepriseSessionStore(new Reprise(service.url, newApp()));
const KEY = { projectKey: "proj", sessionId: "sess" };

test("the store does what that of the SDK does, operation by operation", async () => {
  const random = seeded(7);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const app = newApp();
  // Two processes use the same sessions.
  const workers = [1, 2].map(() => new RepriseSessionStore(new Reprise(service.url, app)));
  const oracle = new InMemorySessionStore();
  const projects = ["A", "B/ü", "never written"];
  const sessions = ["s1", "s%2", ".."];
  const subpaths = [{}, { subpath: "subagents/agent-1" }, { subpath: "subagents/deep/agent-2" }];
  const keys = projects.flatMap((projectKey) =>
    sessions.flatMap((sessionId) => subpaths.map((subpath): SessionKey => ({ projectKey, sessionId, ...subpath }))),
  );
  const written = keys.filter(({ projectKey }) => projectKey !== "never written");
  let number = 0;
  for (let operation = 0; operation < 60; operation += 1) {
    const [key, store] = [pick(written), pick(workers)];
    if (random() < 0.15) {
      await store.delete(key);
      await oracle.delete(key);
    } else {
      const entries = Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
        number += 1;
        return entry(random() < 0.7 ? `uuid-${number}` : undefined, { number, text: "😀 \ud800\u2028\n" });
      });
      await store.append(key, entries);
      await oracle.append(key, entries);
      assert.deepEqual(await pick(workers).load(key), await oracle.load(key));
    }
  }
  for (const key of keys) assert.deepEqual(await pick(workers).load(key), await oracle.load(key), JSON.stringify(key));
  const ids = (found: { sessionId: string }[]) => found.map(({ sessionId }) => sessionId).sort();
  for (const projectKey of projects) {
    const [listed, summaries] = await Promise.all([
      pick(workers).listSessions(projectKey),
      pick(workers).listSessionSummaries(projectKey),
    ]);
    assert.deepEqual(ids(listed), ids(await oracle.listSessions(projectKey)));
    const data = (found: SessionSummaryEntry[]) => new Map(found.map((it) => [it.sessionId, it.data]));
    assert.deepEqual(data(summaries), data(await oracle.listSessionSummaries(projectKey)));
    for (const { sessionId, mtime } of summaries) {
      const session = listed.find((it) => it.sessionId === sessionId);
      assert.ok(session && mtime >= session.mtime && session.mtime > 1e12);
    }
    for (const sessionId of sessions) {
      const key = { projectKey, sessionId };
      assert.deepEqual((await pick(workers).listSubkeys(key)).sort(), (await oracle.listSubkeys(key)).sort());
    }
  }
});

test("the functions of the SDK find in the store what they find in that of the SDK", async () => {
  const dir = "/trip";
  const results: unknown[] = [];
  for (const sessionStore of [newStore(), new InMemorySessionStore()]) {
    const options = { dir, sessionStore };
    // The SDK makes the key of a project of its directory.
    const key = { projectKey: "-trip", sessionId: "0198d4b2-0000-4000-8000-000000000001" };
    await sessionStore.append(key, conversation(key.sessionId, 3));
    await sessionStore.append(
      { ...key, subpath: "subagents/agent-a1b2c3d" },
      conversation(key.sessionId, 1, "a1b2c3d"),
    );
    await renameSession(key.sessionId, "By the lake", options);
    await tagSession(key.sessionId, "picnic", options);
    const fork = await forkSession(key.sessionId, options);
    const listed = await listSessions(options);
    const info = await getSessionInfo(key.sessionId, options);
    const said = async (sessionId: string) =>
      (await getSessionMessages(sessionId, options)).map(({ type, message }) => ({ type, message }));
    results.push({
      titles: listed
        .map(({ summary, tag, customTitle }) => ({ summary, tag, customTitle }))
        .sort((one, other) => one.summary.localeCompare(other.summary)),
      title: info?.customTitle,
      messages: await said(key.sessionId),
      forked: await said(fork.sessionId),
      agents: await listSubagents(key.sessionId, options),
      ofAgent: (await getSubagentMessages(key.sessionId, "a1b2c3d", options)).length,
    });
    await deleteSession(key.sessionId, options);
    assert.equal(await sessionStore.load(key), null);
    assert.equal((await listSessions(options)).length, 1);
  }
  const [ours, oracle] = results as { messages: unknown[]; agents: string[]; title: string }[];
  assert.deepEqual(ours, oracle);
  assert.equal(ours?.messages.length, 6);
  assert.deepEqual([ours.title, ours.agents], ["By the lake", ["a1b2c3d"]]);
});

test("the example of the README names a session", async () => {
  process.env["REPRISE_URL"] = service.url;
  process.env["REPRISE_APP"] = newApp();
  const { named } = await import("./readme/agent.js");
  const sessionId = crypto.randomUUID();
  const store = new RepriseSessionStore(new Reprise(service.url, process.env["REPRISE_APP"]));
  await store.append({ projectKey: "-trip", sessionId }, conversation(sessionId, 1));
  assert.equal((await named(sessionId, "By the lake", "/trip")).length, 2);
  const [info] = await listSessions({ dir: "/trip", sessionStore: store });
  assert.equal(info?.customTitle, "By the lake");
});

test("entries that are sent again are stored once, whichever process sends them", async () => {
  const app = newApp();
  const line = await Line.to(service);
  const stores = [service.url, line.url].map((url) => new RepriseSessionStore(new Reprise(url, app)));
  const batches = Array.from({ length: 6 }, (_, batch) =>
    Array.from({ length: 4 }, (_, number) => entry(`${batch}-${number}`, { batch })),
  );
  for (const batch of batches) {
    line.lostAnswers = batches.indexOf(batch) % 2;
    await Promise.all(stores.map((store) => store.append(KEY, batch)));
  }
  await stores[1]?.append(KEY, batches.flat());
  const loaded = await stores[0]?.load(KEY);
  assert.deepEqual(loaded, batches.flat());
  const [summary] = (await stores[0]?.listSessionSummaries("proj")) ?? [];
  assert.deepEqual(summary?.data, foldSessionSummary(undefined, KEY, batches.flat()).data);
});

test("an append whose summary cannot be written has stored its entries, and the next one catches up", async (context) => {
  const warned = context.mock.method(console, "warn", () => undefined);
  let isBroken = true;
  const fetch = (url: string, init: RequestInit) => {
    const isSummary = init.method === "PUT" && url.includes("/summaries-js/");
    if (isBroken && isSummary) return Promise.resolve(new Response("", { status: 503 }));
    return globalThis.fetch(url, init);
  };
  const store = new RepriseSessionStore(new Reprise(service.url, newApp(), { fetch, retryForMs: 0 }));
  const entries = [entry("u1"), entry(undefined, { note: "without an id" })];
  // The SDK repeats an append that throws, and an entry without an id would be stored twice.
  await store.append(KEY, entries);
  assert.deepEqual(await store.load(KEY), entries);
  assert.deepEqual(await store.listSessionSummaries("proj"), []);
  assert.match(
    String(warned.mock.calls[0]?.arguments[0]),
    /the summary of the session sess is old until the next append/,
  );
  isBroken = false;
  entries.push(entry("u2"));
  await store.append(KEY, entries.slice(2));
  const [summary] = await store.listSessionSummaries("proj");
  assert.deepEqual(summary?.data, foldSessionSummary(undefined, KEY, entries).data);
  assert.equal(warned.mock.callCount(), 1);
});

test("what many processes append at once stays whole, and none is lost", async () => {
  const app = newApp();
  const append = async (worker: number) => {
    const store = new RepriseSessionStore(new Reprise(service.url, app));
    for (let batch = 0; batch < 5; batch += 1) {
      const name = `${worker}-${batch}`;
      await store.append(KEY, [entry(`${name}-a`, { name }), entry(undefined, { name }), entry(`${name}-b`, { name })]);
    }
  };
  await Promise.all(Array.from({ length: 4 }, (_, worker) => append(worker)));
  const loaded = (await new RepriseSessionStore(new Reprise(service.url, app)).load(KEY)) ?? [];
  assert.equal(loaded.length, 60);
  for (let index = 0; index < loaded.length; index += 3) {
    const names = loaded.slice(index, index + 3).map((it) => it["name"]);
    assert.equal(new Set(names).size, 1);
  }
});

test("a session of more than one request is stored and loaded", async () => {
  const store = newStore();
  const entries = Array.from({ length: 20 }, (_, number) => entry(`large-${number}`, { text: "ü".repeat(500_000) }));
  await store.append(KEY, entries);
  assert.deepEqual(await store.load(KEY), entries);
  await assert.rejects(store.append({ ...KEY, projectKey: "x".repeat(257) }, entries), RangeError);
});

function entry(uuid: string | undefined, fields: object = {}): SessionStoreEntry {
  return { type: "x", ...(uuid === undefined ? {} : { uuid }), ...fields };
}

/** Returns questions and answers as Claude Code writes them. */
function conversation(sessionId: string, turns: number, agentId?: string): SessionStoreEntry[] {
  let parentUuid: string | null = null;
  return Array.from({ length: 2 * turns }, (_, index) => {
    const role = index % 2 === 0 ? "user" : "assistant";
    const uuid = crypto.randomUUID();
    const content = role === "user" ? `Question ${index}` : [{ type: "text", text: `Answer ${index}` }];
    const timestamp = new Date(Date.UTC(2025, 0, 1, 0, 0, index)).toISOString();
    const isSidechain = agentId !== undefined;
    const written = {
      type: role,
      uuid,
      parentUuid,
      sessionId,
      timestamp,
      isSidechain,
      cwd: "/trip",
      message: { role, content },
    };
    parentUuid = uuid;
    return { ...written, ...(agentId === undefined ? {} : { agentId }) };
  });
}

/** Returns random numbers that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
