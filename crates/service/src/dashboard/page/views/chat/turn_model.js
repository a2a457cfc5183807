// Puts what the API tells about a chat together into turns: messages, calls, runs of tools, questions and
// unfinished steps. The service keeps no timeline; times and ids say what belongs to which turn.

import { results as resultsIn, toolCalls } from "../../parts/tool_calls.js";

const at = (time) => (time ? Date.parse(time) : NaN);

/**
 * Returns the turns, oldest first. A message with a `request_id` belongs to that turn. Without one, a turn
 * begins with each message of a user that is not the answer to a question.
 *
 * What happened until `since` may be missing: the turns that it may belong to are partial.
 */
export function turnsOf({ messages, calls, runs, questions, points, lastTurn, since }) {
  const turns = grouped(messages);
  const byRequest = new Map(turns.filter((it) => it.requestId).map((it) => [it.requestId, it]));
  for (const point of points) {
    const turn = byRequest.get(point.request_id) ?? created(turns, byRequest, point.request_id);
    turn.points.push(point);
    turn.number = point.turn;
    turn.written = Math.max(turn.written, at(point.created_at));
  }
  if (lastTurn && !byRequest.has(lastTurn.request_id))
    created(turns, byRequest, lastTurn.request_id);
  for (const turn of turns) {
    turn.points.sort((a, b) => a.sequence - b.sequence);
    turn.outcome = outcome(turn, lastTurn);
    if (turn.requestId && turn.requestId === lastTurn?.request_id) turn.number = lastTurn.turn;
    if (!Number.isFinite(turn.start)) turn.start = turn.end = turn.written;
  }
  turns.sort((a, b) => a.written - b.written || a.first - b.first);
  assign(turns, { calls, runs, questions });
  turns.forEach(finish);
  turns.forEach((turn, index) => {
    // What belongs to a turn happened after the turn before it was stored; see `assign`.
    turn.isPartial = (turns[index - 1]?.written ?? -Infinity) < since;
  });
  return turns;
}

function grouped(messages) {
  const turns = [];
  /** Answers to questions: a turn is stored at its end, so that they come before its messages. */
  let answers = [];
  for (const message of messages) {
    if (isAnswer(message) && !message.request_id) {
      answers.push(message);
      continue;
    }
    const current = turns.at(-1);
    const begins = message.request_id
      ? message.request_id !== current?.requestId
      : current?.requestId || (isAsking(message) && current?.messages.some(isAsking));
    if (!current || begins) turns.push(empty(message.request_id ?? null, message.sequence));
    [...answers, message].forEach((it) => put(turns.at(-1), it));
    answers = [];
  }
  if (answers.length > 0 && turns.length === 0) turns.push(empty(null, answers[0].sequence));
  answers.forEach((it) => put(turns.at(-1), it));
  return turns;
}

function put(turn, message) {
  turn.messages.push(message);
  turn.start = Math.min(turn.start, time(message));
  turn.end = Math.max(turn.end, time(message));
  turn.written = Math.max(turn.written, at(message.created_at));
}

const isAnswer = ({ metadata }) => Boolean(metadata?.input_request_id);
const isAsking = ({ role, metadata }) => role === "user" && !isAnswer({ metadata });

// The caller's own time is nearer to the event; it may be any text.
const time = (message) => at(message.timestamp) || at(message.created_at);

const empty = (requestId, first) => ({
  key: requestId ?? `@${first}`,
  requestId,
  first,
  number: null,
  messages: [],
  points: [],
  items: [],
  start: Infinity,
  end: -Infinity,
  /** When the last of it was stored. */
  written: -Infinity,
});

function created(turns, byRequest, requestId) {
  const turn = empty(requestId, Infinity);
  turns.push(turn);
  byRequest.set(requestId, turn);
  return turn;
}

/** The chat keeps the outcome of its last turn only; unfinished steps tell it for earlier ones. */
function outcome({ requestId, points }, lastTurn) {
  if (requestId && requestId === lastTurn?.request_id) return lastTurn.outcome;
  if (points.some(({ status }) => status === "failed")) return "failed";
  return points.length > 0 ? "interrupted" : null;
}

function assign(turns, { calls, runs, questions }) {
  const byCall = new Map();
  const byToolCall = new Map();
  for (const turn of turns) {
    for (const message of turn.messages) {
      if (message.produced_by_call_id) byCall.set(message.produced_by_call_id, turn);
      for (const { id } of toolCalls(message))
        if (id && !byToolCall.has(id)) byToolCall.set(id, turn);
    }
  }
  // The first turn that was not stored yet when it happened; what is later belongs to the last turn.
  const during = (when) => turns.find(({ written }) => when <= written) ?? turns.at(-1);
  const add = (turn, item) => turn?.items.push(item);
  for (const call of calls) {
    const start = at(call.called_at);
    add(byCall.get(call.call_id) ?? during(start), callItem(call, start));
  }
  const recorded = new Set(runs.map((run) => run.tool_call_id).filter(Boolean));
  for (const run of runs) {
    const start = at(run.started_at);
    add(byToolCall.get(run.tool_call_id) ?? during(start), runItem(run, start));
  }
  for (const question of questions) {
    add(during(at(question.created_at)), waitItem(question));
  }
  for (const turn of turns) turn.items.push(...unrecorded(turn, recorded));
}

const callItem = (call, start) => ({
  kind: "call",
  key: `call ${call.call_id}`,
  label: call.model ?? call.requested_model ?? "unknown model",
  who: call.agent,
  start,
  end: start + call.duration_ms,
  call,
});

const runItem = (run, start) => ({
  kind: "tool",
  key: `run ${run.run_id}`,
  label: run.tool_name,
  who: run.agent,
  start,
  end: start + (run.execution_time_ms ?? 0),
  isFailed: !run.is_success,
  error: run.error,
  run,
});

const waitItem = (question) => ({
  kind: "wait",
  key: `wait ${question.request_id}`,
  label: question.prompt,
  who: question.agent,
  start: at(question.created_at),
  end: question.state === "pending" ? Date.now() : at(question.closed_at),
  isOpen: question.state === "pending",
  isFailed: question.state === "expired",
  question,
});

/** The tool calls of messages that no recorded run describes; their results say when they ended. */
function unrecorded(turn, recorded) {
  const results = new Map();
  for (const message of turn.messages) {
    for (const { id } of resultsIn(message)) if (!results.has(id)) results.set(id, message);
  }
  return turn.messages.flatMap((message) =>
    toolCalls(message)
      .filter(({ id }) => !recorded.has(id))
      .map(({ id, name }, index) => {
        const result = results.get(id);
        return {
          kind: "tool",
          key: `tool ${message.sequence} ${index}`,
          label: name,
          who: message.name,
          start: time(message),
          end: result ? Math.max(time(result), time(message)) : time(message),
          isOpen: !result,
          isFailed: Boolean(result?.tool_error),
          error: typeof result?.tool_error === "string" ? result.tool_error : null,
          sequence: message.sequence,
        };
      }),
  );
}

function finish(turn) {
  turn.items.sort((a, b) => a.start - b.start);
  for (const { start, end } of turn.items) {
    turn.start = Math.min(turn.start, start);
    turn.end = Math.max(turn.end, end);
  }
  const asked = turn.messages.find(isAsking) ?? turn.messages[0];
  const text = asked && (typeof asked.content === "string" ? asked.content : textOf(asked.content));
  turn.title = text || turn.requestId || "A turn without messages";
  const made = turn.items.filter(({ kind }) => kind === "call").map(({ call }) => call);
  const sum = (field) => made.reduce((all, call) => all + call[field], 0);
  turn.calls = made.length;
  turn.tokens = sum("total_tokens");
  turn.cost = sum("cost_micros_usd");
  turn.tools = turn.items.filter(({ kind }) => kind === "tool").length;
  turn.failedTools = turn.items.filter(({ kind, isFailed }) => kind === "tool" && isFailed).length;
}

function textOf(content) {
  const parts = Array.isArray(content) ? content : [];
  return parts.map((part) => part?.text).find((text) => typeof text === "string") ?? "";
}
