// The tour of the API (docs/book/src/tutorials/tour.md), with openapi-fetch and the types that openapi-typescript generates.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import createClient from "openapi-fetch";
import type { paths } from "./node_modules/reprise/index.js";

const [url, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } });
const app_id = "acme_corp";
const chat_id = `picnic-${randomUUID()}`;
const of = { app_id, chat_id };
const chat = "/api/chats/{app_id}/{chat_id}";

/** Returns the body of a success; throws a problem. */
async function ok<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>, status = 200) {
  const { data, error, response } = await answer;
  assert.equal(response.status, status, JSON.stringify(error));
  return data as NonNullable<T>;
}

assert.equal((await ok(client.GET("/api/health/ready"))).status, "ready");

const body = { workflow_name: "Picnic", chat_id, user_id: "alice" };
const create = () => client.POST("/api/chats/{app_id}", { params: { path: { app_id } }, body });
assert.equal((await ok(create(), 201)).status, "running");
assert.equal((await ok(create())).chat_id, chat_id);

const params = { path: of };
await ok(
  client.POST(`${chat}/initial-messages`, {
    params,
    body: { messages: [{ role: "user", name: "user", content: "Plan a picnic" }] },
  }),
  201,
);
const message = { event_id: "evt-1", role: "assistant", name: "planner", content: "Park or lake?" };
const append = () => client.POST(`${chat}/messages`, { params, body: message });
assert.equal((await ok(append(), 201)).messages[0]?.sequence, 1);
assert.equal((await ok(append())).messages[0]?.duplicate, true);

await ok(client.PUT(`${chat}/context`, { params, body: { place: null, guests: 4 } }));
const merged = await ok(client.PATCH(`${chat}/context`, { params, body: { guests: 5 } }));
assert.deepEqual(merged.context_snapshot, { place: null, guests: 5 });
await ok(
  client.PUT(`${chat}/artifact`, {
    params,
    body: { ui_tool_id: "map", display: "artifact", payload: { lat: 52.5, lon: 13.4 } },
  }),
);

const exchange = await ok(
  client.POST(`${chat}/exchanges`, {
    params,
    body: {
      messages: [{ event_id: "evt-2", role: "assistant", name: "planner", content: "The park." }],
      call: { call_id: "call-1", agent: "planner", prompt_tokens: 812, completion_tokens: 9 },
    },
  }),
  201,
);
assert.equal(exchange.call.total_tokens, 821);
const workflow = { path: { app_id, workflow_name: "Picnic" } };
const stats = await ok(client.GET("/api/stats/{app_id}/{workflow_name}", { params: workflow }));
assert.ok(stats.agents["planner"]);

const asked = await ok(
  client.POST(`${chat}/input-requests`, {
    params,
    body: { request_id: "ask-1", prompt: "Park or lake?", kind: "choice", options: ["park", "lake"] },
  }),
  201,
);
assert.equal(asked.state, "pending");
const question = { path: { ...of, request_id: "ask-1" } };
await ok(
  client.POST(`${chat}/input-requests/{request_id}/answer`, {
    params: question,
    body: { content: "park", name: "ada" },
  }),
  201,
);
const answered = await ok(
  client.GET(`${chat}/input-requests/{request_id}`, {
    params: { ...question, query: { wait: "30s" } },
  }),
);
assert.equal(answered.answer?.content, "park");

// The stream begins with all messages; reading stops after the first event.
const events = await client.GET(`${chat}/events`, { params, parseAs: "stream" });
for await (const chunk of events.data ?? []) {
  assert.match(new TextDecoder().decode(chunk), /Plan a picnic/);
  break;
}

const history = await ok(
  client.GET(`${chat}/history`, { params: { ...params, query: { dialect: "ag2" } } }),
);
// As NDJSON it would be a line.
assert.ok("messages" in history);
assert.equal(history.messages.length, 4);
assert.equal((await ok(client.GET(`${chat}/meta`, { params }))).last_artifact?.ui_tool_id, "map");

const lease = await ok(
  client.POST(`${chat}/lease`, { params, body: { owner: "worker-2", ttl_ms: 60_000 } }),
  201,
);
const fencing_token = lease.fencing_token;
const header = { "Fencing-Token": fencing_token };
const turn = await ok(
  client.POST(`${chat}/turns`, {
    params: { ...params, header },
    body: {
      request_id: "req-1",
      outcome: "failed",
      messages: [{ role: "user", name: "user", content: "Will it rain?" }],
      steps: [{ type: "tool", status: "failed", stack_id: "stk-1", error: "the forecast is away" }],
    },
  }),
  201,
);
assert.equal(turn.resume_points, 1);
const plan = await ok(
  client.GET(`${chat}/resume`, { params: { ...params, query: { dialect: "anthropic" } } }),
);
assert.equal(plan.action, "retry");
await ok(
  client.DELETE(`${chat}/lease/{fencing_token}`, { params: { path: { ...of, fencing_token } } }),
  204,
);
const fenced = await client.POST(`${chat}/messages`, {
  params: { ...params, header },
  body: { role: "user", content: "?" },
});
assert.equal(fenced.error?.status, 409);

const fork = await ok(client.POST(`${chat}/fork`, { params, body: { sequence: 2 } }), 201);
assert.equal(fork.forked_from?.chat_id, chat_id);

assert.equal((await ok(client.POST(`${chat}/complete`, { params }))).status, "completed");
const completed = await ok(
  client.GET("/api/chats/{app_id}", {
    params: { path: { app_id }, query: { status: "completed", limit: 5 } },
  }),
);
assert.equal(completed.data[0]?.chat_id, chat_id);
console.log("the tour, with the generated TypeScript types: done");
