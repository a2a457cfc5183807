// The data that the tests look at, stored over HTTP.

import { existsSync, readFileSync } from "node:fs";

const HOUR = 3_600_000;
const AGENTS = ["planner", "interviewer", "writer", "reviewer"];
const MODELS = [
  ["anthropic", "claude-sonnet-4"],
  ["openai", "gpt-4.1-mini"],
];
const ENDINGS = ["complete", "complete", "complete", "fail", "pause", null];

/** Pseudo-random numbers between 0 and 1, the same in every run. */
function numbers(seed = 1) {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** An app with three workflows, and one chat, `picnic-1`, that has everything a chat can have. */
export async function seedApp(call, appId) {
  const next = numbers();
  for (let index = 0; index < 26; index += 1) {
    const chatId = `${appId}-gen-${String(index).padStart(2, "0")}`;
    await seedChat(call, appId, {
      chatId,
      workflow: "Generator",
      next,
      calls: 1 + Math.floor(next() * 6),
    });
    const ending = ENDINGS[index % ENDINGS.length];
    if (ending) await call("POST", `/api/chats/${appId}/${chatId}/${ending}`);
  }
  for (let index = 0; index < 3; index += 1) {
    await seedChat(call, appId, {
      chatId: `${appId}-sum-${index}`,
      workflow: "Summaries",
      next,
      calls: 2,
    });
  }
  await seedPicnic(call, appId, next);
}

async function seedChat(call, appId, { chatId, workflow, next, calls }) {
  await call("POST", `/api/chats/${appId}`, {
    chat_id: chatId,
    workflow_name: workflow,
    user_id: "alice",
  });
  const made = Array.from({ length: calls }, () => providerCall(next));
  await call("POST", `/api/chats/${appId}/${chatId}/calls`, { calls: made });
}

function providerCall(next) {
  const [provider, model] = MODELS[Math.floor(next() * MODELS.length)];
  return {
    agent: AGENTS[Math.floor(next() * AGENTS.length)],
    requested_provider: provider,
    requested_model: model,
    prompt_tokens: 200 + Math.floor(next() * 4_000),
    completion_tokens: 20 + Math.floor(next() * 900),
    cost_micros_usd: 400 + Math.floor(next() * 30_000),
    duration_ms: 300 + Math.floor(next() ** 3 * 14_000),
    called_at: new Date(Date.now() - Math.floor(next() ** 1.5 * 23 * HOUR)).toISOString(),
  };
}

async function seedPicnic(call, appId, next) {
  await seedChat(call, appId, { chatId: "picnic-1", workflow: "Picnic", next, calls: 5 });
  const base = `/api/chats/${appId}/picnic-1`;
  await call("POST", `${base}/messages`, { messages: PICNIC });
  await call("DELETE", `${base}/messages/5`);
  await call("PUT", `${base}/context`, {
    place: "lake",
    guests: 5,
    budget_usd: 80,
    weather: { rain: 0.2, wind: null },
    big: 9007199254740991,
    dishes: ["bread", "cheese", "grapes"],
  });
  await call("PUT", `${base}/artifact`, {
    ui_tool_id: "map",
    display: "artifact",
    payload: { lat: 52.5, lon: 13.4, zoom: 11 },
  });
}

const PICNIC = [
  { role: "system", name: "orchestrator", content: "You plan picnics. Ask before you decide." },
  { role: "user", name: "alice", content: "Plan a picnic for five on Sunday." },
  {
    role: "assistant",
    name: "planner",
    content: "Let me look at the weather first.",
    tool_calls: [
      {
        id: "call_1",
        type: "function",
        function: { name: "forecast", arguments: '{"place": "lake", "day": "Sunday"}' },
      },
    ],
  },
  { role: "tool", name: "forecast", tool_call_id: "call_1", content: { rain: 0.2, wind: "light" } },
  {
    role: "assistant",
    name: "planner",
    content: "Park or lake?\n\nThe lake has shade, the park has tables.",
  },
  { role: "user", name: "alice", content: "This one is taken back." },
  { role: "user", name: "alice", content: "The lake, and something without nuts." },
];

/** A real conversation if one is available beside the checkout, else the project's own. */
export function transcript() {
  const real = new URL("../../../shared/real/ag2-captain.jsonl", import.meta.url);
  if (existsSync(real)) {
    const [line] = readFileSync(real, "utf8").split("\n");
    return JSON.parse(line).history;
  }
  const own = new URL("../../fixtures/transcripts/group-chat.jsonl", import.meta.url);
  return readFileSync(own, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

export async function seedTranscript(call, appId, chatId) {
  await call("POST", `/api/chats/${appId}`, { chat_id: chatId, workflow_name: "Captain" });
  const messages = transcript();
  await call("POST", `/api/chats/${appId}/${chatId}/messages`, { messages });
  return messages;
}

/** Chats of two people with titles, one of which failed in its last turn; see the tests of the search. */
export async function seedDesk(call, appId) {
  await seedTurn(call, appId, {
    chatId: "desk-1",
    user: "bob",
    title: "Rebooking of LH 454",
    outcome: "failed",
  });
  await call("POST", `/api/chats/${appId}/desk-1/fail`, { reason: "504 Gateway Timeout" });
  await seedTurn(call, appId, { chatId: "desk-2", user: "bob", title: "A weekend in Lisbon" });
  await seedTurn(call, appId, { chatId: "desk-3", user: "carol", title: "Refund of a hotel" });
  await call("POST", `/api/chats/${appId}/desk-3/complete`);
}

async function seedTurn(call, appId, { chatId, user, title, outcome = "completed" }) {
  const chat = { chat_id: chatId, workflow_name: "Desk", user_id: user, title };
  await call("POST", `/api/chats/${appId}`, chat);
  const step = { type: "tool", status: outcome, assistant_id: "booking", stack_id: "stk_1" };
  await call("POST", `/api/chats/${appId}/${chatId}/turns`, {
    request_id: "turn-1",
    outcome,
    messages: [
      { role: "user", name: user, content: `Please help: ${title}` },
      { role: "assistant", name: "triage", content: "Let me look at this." },
    ],
    steps: [outcome === "failed" ? { ...step, error: "504 Gateway Timeout" } : step],
  });
}
