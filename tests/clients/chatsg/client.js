// A client of the JSONL session store, as its front end and its scripts are: it knows the root of a port, and no app.
//
//     node client.js URL
//
// The same visit is made twice: with Node's own `http`, and with axios.

import assert from 'node:assert/strict';
import http from 'node:http';

import axios from 'axios';

const base = process.argv[2];

/** Sends a request with `http`, and returns the status and the parsed body. */
function plain(method, path, body) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = text === undefined ? {} : {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
  };
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, base), { method, headers }, (response) => {
      let received = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => { received += chunk; });
      response.on('end', () => resolve({ status: response.statusCode, data: JSON.parse(received) }));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(text);
  });
}

/** Sends a request with axios, which fails for every status that is no success. */
async function withAxios(method, path, body) {
  try {
    const { status, data } = await axios.request({ method, baseURL: base, url: path, data: body });
    return { status, data };
  } catch (error) {
    return { status: error.response.status, data: error.response.data };
  }
}

async function visit(send, name) {
  const ok = async (method, path, body) => {
    const { status, data } = await send(method, path, body);
    assert.equal(status, 200, `${method} ${path}: ${JSON.stringify(data)}`);
    return data;
  };

  const created = await ok('POST', '/api/chats', { title: `A chat with ${name}`, userId: 'user123' });
  assert.equal(created.success, true);
  assert.equal(created.session.id, created.sessionId);
  assert.equal(created.session.messageCount, 0);
  const chat = `/api/chats/${created.sessionId}`;

  const saved = await ok('POST', `${chat}/messages`, {
    messages: [
      { type: 'user', content: 'Hello', metadata: {} },
      {
        type: 'assistant',
        content: 'Hi there! 🦀',
        metadata: { agent: 'AnalyticalAgent', confidence: 0.9, processingTime: 150, toolsUsed: [] },
      },
    ],
  });
  assert.deepEqual([saved.savedMessages, saved.totalMessages], [2, 2]);

  const recorded = await ok('POST', '/api/chat', {
    sessionId: created.sessionId,
    message: 'And now?',
    reply: { content: 'Now we are done.', agent: 'CreativeAgent' },
  });
  assert.equal(recorded.messageCount, 4);

  // With a query, which the original did not route.
  const page = await ok('GET', `${chat}/messages?limit=3&offset=1`);
  assert.deepEqual(page.messages.map((it) => it.content), ['Hi there! 🦀', 'And now?', 'Now we are done.']);
  assert.deepEqual(page.messages.map((it) => it.sender), ['bot', 'user', 'bot']);
  assert.deepEqual([page.messages[0].id, page.totalMessages, page.hasMore], [1, 4, false]);
  assert.ok(!Number.isNaN(Date.parse(page.messages[0].timestamp)));

  const listed = await ok('GET', '/api/chats');
  const mine = listed.chats.find((it) => it.id === created.sessionId);
  assert.deepEqual([mine.title, mine.status, mine.messageCount, mine.agentType],
    [`A chat with ${name}`, 'active', 4, 'CreativeAgent']);
  assert.equal(listed.totalChats, listed.chats.length);

  const context = await ok('GET', `${chat}/context?max=2`);
  assert.deepEqual(context.messages.map((it) => it.role), ['user', 'assistant']);
  assert.deepEqual([context.truncated, context.dropped], [true, 2]);

  const unknown = await send('POST', '/api/chats/never/messages', { messages: [] });
  assert.deepEqual([unknown.status, unknown.data.error, unknown.data.sessionId],
    [404, 'Session not found', 'never']);
  assert.equal((await send('POST', `${chat}/messages`, {})).status, 400);

  assert.deepEqual(await ok('DELETE', chat), { success: true, chatId: created.sessionId });
  assert.deepEqual(await ok('DELETE', '/api/chats/never'), { success: true, chatId: 'never' });
  const left = await ok('GET', '/api/chats');
  assert.ok(left.chats.every((it) => it.id !== created.sessionId));
  console.log(`${name}: ok`);
}

await visit(plain, 'http');
await visit(withAxios, 'axios');
