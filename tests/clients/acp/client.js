// A client of the Agent Client Protocol, made with its SDK, that starts `reprise acp` as an editor does.
//
//     node client.js REPRISE DATA_DIRECTORY URL_OF_DISCOBOT
//
// The service at the URL runs on the same data: what was said in the protocol is read there as messages of the AI SDK.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Readable, Writable } from 'node:stream';

import { PROTOCOL_VERSION, client, methods, ndJsonStream } from '@agentclientprotocol/sdk';

const [reprise, data, discobot] = process.argv.slice(2);
const asking = ['--', process.execPath, fileURLToPath(new URL('agent.js', import.meta.url))];

const text = (words) => ({ type: 'text', text: words });

/** Starts `reprise acp`, and lets `visit` use it; what it was told meanwhile is in `heard`. */
async function connected(command, visit) {
  const started = spawn(reprise, ['acp', 'chats', '--data-dir', data, ...command], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(started, 'exit');
  const heard = [];
  const asked = [];
  const listening = client({ name: 'visitor' })
    .onNotification(methods.client.session.update, ({ params }) => { heard.push(params); })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      return { outcome: { outcome: 'selected', optionId: 'yes' } };
    });
  const stream = ndJsonStream(Writable.toWeb(started.stdin), Readable.toWeb(started.stdout));
  await listening.connectWith(stream, async (agent) => {
    const { agentCapabilities } = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
    });
    assert.equal(agentCapabilities.loadSession, true);
    await visit(agent, heard, asked);
  });
  started.stdin.end();
  assert.deepEqual((await ended).slice(0, 1), [0]);
}

const load = (agent, sessionId) => agent.request(methods.agent.session.load, {
  sessionId, cwd: '/work', mcpServers: [],
});

const prompt = (agent, sessionId, words) => agent.request(methods.agent.session.prompt, {
  sessionId, prompt: [text(words)],
});

const kinds = (heard) => heard.map(({ update }) => update.sessionUpdate);

/** Returns what was said: the texts of messages and thoughts. */
const words = (heard) => heard.flatMap(({ update }) => update.content?.text ?? []);

let sessionId;
await connected([], async (agent, heard) => {
  ({ sessionId } = await agent.request(methods.agent.session.new, { cwd: '/work', mcpServers: [] }));
  const { stopReason } = await prompt(agent, sessionId, 'Hello 🦀');
  assert.deepEqual([stopReason, heard.length], ['end_turn', 0]);
});
await connected([], async (agent, heard) => {
  await load(agent, sessionId);
  assert.deepEqual(words(heard), ['Hello 🦀']);
  const { sessions } = await agent.request(methods.agent.session.list, {});
  assert.deepEqual(sessions.map((it) => [it.sessionId, it.title]), [[sessionId, 'Hello 🦀']]);
  await assert.rejects(load(agent, 'never'), { code: -32002 });
});
console.log('acp: replays what it was prompted');

await connected(asking, async (agent, heard, asked) => {
  ({ sessionId } = await agent.request(methods.agent.session.new, { cwd: '/work', mcpServers: [] }));
  await prompt(agent, sessionId, 'Count me');
  assert.equal(asked[0].toolCall.title, 'Count the letters');
  assert.equal(heard.length, 6);
});
await connected(asking, async (agent, heard, asked) => {
  await load(agent, sessionId);
  const replayed = [
    'user_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'agent_message_chunk',
  ];
  assert.deepEqual(kinds(heard), replayed);
  assert.deepEqual(words(heard), ['Count me', 'I must count.', 'It has 8 letters.']);
  assert.deepEqual([heard[3].update.status, heard[3].update.rawOutput], ['completed', '8']);
  heard.length = 0;
  // It goes on in another session of the agent, under the same id.
  await prompt(agent, sessionId, 'Again');
  assert.ok(heard.every((it) => it.sessionId === sessionId) && asked[0].sessionId === sessionId);
});
console.log('acp: records another agent, and replays it');

const get = async (path) => (await fetch(new URL(`/sessions/${sessionId}${path}`, discobot))).json();
const { messages } = await get('/chat?content=1');
assert.deepEqual(messages.map((it) => [it.role, it.content]), [
  ['user', 'Count me'], ['assistant', ''], ['assistant', 'It has 8 letters.'],
  ['user', 'Again'], ['assistant', ''], ['assistant', 'It has 5 letters.'],
]);
assert.deepEqual(messages[1].parts.map((it) => it.type), ['reasoning', 'dynamic-tool']);
assert.equal(messages[1].parts[1].output, '8');
assert.equal((await get('/chat/status')).isRunning, false);
const record = await get('');
assert.equal(record.cwd, '/work');
assert.notEqual(record.sessionId, sessionId);
console.log('discobot: shows what was said by acp');
