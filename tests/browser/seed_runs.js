// Chats in which something went wrong, with everything that the page shows of it.

const SECOND = 1_000;

/** A chat of two turns: the first is completed, the second failed in a tool that another assistant used. */
export async function seedFailedRun(call, appId, chatId = "rebook-1", { user = "bob" } = {}) {
  const base = `/api/chats/${appId}/${chatId}`;
  await call("POST", `/api/chats/${appId}`, {
    chat_id: chatId,
    workflow_name: "Rebooking",
    user_id: user,
    title: "Rebooking to Oslo",
  });
  const start = Date.now() - 130 * SECOND;
  const at = (seconds) => new Date(start + seconds * SECOND).toISOString();
  await call("POST", `${base}/calls`, {
    calls: CALLS.map(({ second, ...it }) => ({ ...it, called_at: at(second) })),
  });
  await call("POST", `${base}/turns`, {
    request_id: "req_search",
    outcome: "completed",
    messages: [
      {
        role: "user",
        name: "bob",
        content: "Which flights go to **Oslo** tomorrow?",
        timestamp: at(0),
      },
      {
        role: "assistant",
        name: "planner",
        content:
          "Three flights:\n\n| flight | leaves | seats |\n|---|---|---|\n| SK 1474 | 09:10 | 4 |\n| DY 1103 | 12:45 | 0 |\n| LH 860 | 17:30 | 11 |\n\n1. `SK 1474` is the earliest.\n2. LH 860 has the most seats.",
        reasoning_content:
          "The user asks for tomorrow. I compare the three airlines before I answer.",
        produced_by_call_id: "call-search",
        timestamp: at(4),
      },
    ],
  });
  await call("POST", `${base}/tool-runs`, {
    runs: [
      {
        run_id: "run-prices",
        tool_name: "prices",
        tool_call_id: "tc-prices",
        agent: "planner",
        parameters: { flight: "LH 860" },
        result: { fare: 214 },
        execution_time_ms: 1_400,
        started_at: at(64),
      },
      {
        run_id: "run-rebook",
        tool_name: "rebook",
        tool_call_id: "tc-rebook",
        agent: "booker",
        parameters: { booking: "QX7L2P", flight: "LH 860" },
        error: "HTTP 502 from the booking system: upstream timed out",
        execution_time_ms: 9_800,
        started_at: at(118),
      },
    ],
  });
  await call("POST", `${base}/input-requests`, {
    request_id: "ask-fare",
    prompt: "The change costs 214 euros. Go ahead?",
    agent: "planner",
    kind: "confirm",
  });
  await call("POST", `${base}/input-requests/ask-fare/answer`, { content: true, name: "bob" });
  await call("POST", `${base}/turns`, {
    request_id: "req_rebook",
    outcome: "failed",
    messages: [
      {
        role: "user",
        name: "bob",
        content: "Take LH 860. My booking is QX7L2P.",
        timestamp: at(60),
      },
      {
        role: "assistant",
        name: "planner",
        content: "I look up the fare first.",
        tool_calls: [
          {
            id: "tc-prices",
            type: "function",
            function: { name: "prices", arguments: '{"flight": "LH 860"}' },
          },
        ],
        produced_by_call_id: "call-prices",
        timestamp: at(63),
      },
      {
        role: "tool",
        name: "prices",
        tool_call_id: "tc-prices",
        content: '{"fare": 214}',
        timestamp: at(66),
      },
      {
        role: "assistant",
        name: "booker",
        content: null,
        tool_calls: [
          {
            id: "tc-rebook",
            type: "function",
            function: { name: "rebook", arguments: '{"booking": "QX7L2P", "flight": "LH 860"}' },
          },
        ],
        produced_by_call_id: "call-rebook",
        timestamp: at(117),
      },
    ],
    steps: [
      {
        type: "input",
        status: "completed",
        assistant_id: "planner",
        stack_id: "stk_plan",
        input: {},
      },
      {
        type: "delegate",
        status: "interrupted",
        assistant_id: "planner",
        stack_id: "stk_plan",
        input: { to: "booker" },
      },
      {
        type: "tool",
        status: "failed",
        assistant_id: "booker",
        stack_id: "stk_book",
        stack_parent_id: "stk_plan",
        stack_depth: 1,
        input: { tool: "rebook", booking: "QX7L2P" },
        space_snapshot: { fare: 214, approved: true },
        error:
          "ToolError: HTTP 502 from the booking system: upstream timed out\n  at rebook (booking.py:88)\n  at run_tool (agent.py:31)",
      },
    ],
  });
}

const CALLS = [
  {
    call_id: "call-search",
    agent: "planner",
    requested_provider: "anthropic",
    requested_model: "claude-sonnet-4",
    prompt_tokens: 1_812,
    completion_tokens: 96,
    cost_micros_usd: 6_900,
    duration_ms: 3_400,
    second: 0.4,
  },
  {
    call_id: "call-prices",
    agent: "planner",
    requested_provider: "anthropic",
    requested_model: "claude-sonnet-4",
    prompt_tokens: 2_040,
    completion_tokens: 41,
    cost_micros_usd: 6_735,
    duration_ms: 2_100,
    second: 60.5,
  },
  {
    call_id: "call-rebook",
    agent: "booker",
    requested_provider: "openai",
    requested_model: "gpt-4.1-mini",
    prompt_tokens: 940,
    completion_tokens: 38,
    cost_micros_usd: 437,
    duration_ms: 900,
    second: 116,
  },
];

/** Four versions of the context, and a message for each. */
export async function seedContext(call, appId, chatId) {
  const base = `/api/chats/${appId}/${chatId}`;
  const stops = Array.from({ length: 30 }, (_, index) => ({ stop: index, town: `Town ${index}` }));
  await call("PUT", `${base}/context`, { goal: "Oslo", budget_eur: 500, stops });
  await call("PATCH", `${base}/context`, { flight: "LH 860" });
  await call("PATCH", `${base}/context`, { budget_eur: 286, approved: true });
  await call("PATCH", `${base}/context`, {
    flight: null,
    stops: stops.map((it) => (it.stop === 12 ? { ...it, town: "Hamar" } : it)),
  });
}

/** Forks of a chat: two of itself, and one of the first fork. */
export async function seedForks(call, appId, chatId) {
  const base = `/api/chats/${appId}`;
  await call("POST", `${base}/${chatId}/fork`, {
    chat_id: `${chatId}-a`,
    sequence: 3,
    title: "With another airline",
  });
  await call("POST", `${base}/${chatId}/fork`, { chat_id: `${chatId}-b`, sequence: 5 });
  await call("POST", `${base}/${chatId}-a/messages`, {
    messages: [
      { role: "user", name: "bob", content: "Rather SK 1474." },
      { role: "assistant", name: "planner", content: "Then you land at **10:55**." },
    ],
  });
  await call("POST", `${base}/${chatId}-a/fork`, { chat_id: `${chatId}-a-1`, sequence: 4 });
}

/** A chat of many messages of different sizes. */
export async function seedLong(call, appId, chatId, count) {
  await call("POST", `/api/chats/${appId}`, { chat_id: chatId, workflow_name: "Long" });
  const text = (index) =>
    [
      `line ${index}`,
      `A **longer** answer to ${index}, with \`code\`, a [link](https://example.com/${index}) and more words than one line of a phone has.`,
      `1. first of ${index}\n2. second\n3. third\n\n\`\`\`js\nconst answer = ${index};\n\`\`\``,
    ][index % 3];
  for (let first = 0; first < count; first += 1_000) {
    const messages = Array.from({ length: Math.min(1_000, count - first) }, (_, at) => {
      const index = first + at;
      return {
        role: index % 2 ? "assistant" : "user",
        name: index % 2 ? "planner" : "bob",
        content: text(index),
      };
    });
    await call("POST", `/api/chats/${appId}/${chatId}/messages`, { messages });
  }
}
