// Loads every rendering for the AI SDK, the Agent Client Protocol and the Claude Agent SDK with their packages.
//
//     node loaded.js DIRECTORY
//     node loaded.js --write
//
// Nothing is sent anywhere: the libraries only accept or reject the input. The fixture in `fixtures/written` is what the
// AI SDK holds itself; it is compared with what the SDK holds now, or with `--write` replaced by it.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROTOCOL_VERSION, agent, client, methods } from '@agentclientprotocol/sdk'
import { InMemorySessionStore, forkSession, getSessionInfo, getSessionMessages } from '@anthropic-ai/claude-agent-sdk'
import { convertToModelMessages, readUIMessageStream, validateUIMessages } from 'ai'

const [directory] = process.argv.slice(2)

/** Loads every rendering in a dialect that holds something, and prints how many there were. */
async function each (dialect, library, load) {
  let transcripts = 0
  let count = 0
  const lines = readFileSync(join(directory, `${dialect}.jsonl`), 'utf8').trimEnd().split('\n')
  for (const { source, messages } of lines.map(line => JSON.parse(line))) {
    if (messages.length === 0) continue
    await load(messages).catch(error => {
      throw new Error(`${library} refuses ${source}`, { cause: error })
    })
    transcripts += 1
    count += messages.length
  }
  console.log(`| \`${dialect}\` | ${library} | ${transcripts} | ${count} |`)
}

async function loadUIMessages (messages) {
  assert.deepEqual(await validateUIMessages({ messages }), messages)
  const model = await convertToModelMessages(messages)
  const waiting = messages.flatMap(({ parts }) => parts).filter(part => /^(input|approval)-/.test(part.state))
  const calls = parts(model, 'tool-call').map(part => part.toolCallId)
    .filter(id => !waiting.some(part => part.toolCallId === id))
  const results = parts(model, 'tool-result').map(part => part.toolCallId)
  assert.deepEqual(results.toSorted(), calls.toSorted())
}

function parts (messages, type) {
  const all = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  return all.filter(part => part.type === type)
}

/** Loads a session from an agent that replays it, as its client does. */
async function loadUpdates (updates) {
  const heard = []
  const replaying = agent()
    .onRequest(methods.agent.initialize, () => ({ protocolVersion: PROTOCOL_VERSION }))
    .onRequest(methods.agent.session.load, async ({ client, params: { sessionId } }) => {
      for (const update of updates) {
        await client.notify(methods.client.session.update, { sessionId, update })
      }
      return {}
    })
  const listening = client()
    .onNotification(methods.client.session.update, ({ params: { update } }) => heard.push(update))
  await listening.connectWith(replaying, async agent => {
    await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION })
    await agent.request(methods.agent.session.load, { sessionId: 's', cwd: '/', mcpServers: [] })
  })
  assert.deepEqual(heard, updates)
}

/** Loads a session from a store, and again after it was forked there. */
async function loadSession (entries) {
  const sessionId = entries[0].sessionId
  const memory = new InMemorySessionStore()
  const load = key => memory.load({ ...key, projectKey: '' })
  const sessionStore = { load, append: (key, added) => memory.append({ ...key, projectKey: '' }, added) }
  await sessionStore.append({ sessionId }, entries)
  assert.deepEqual(await sessionStore.load({ sessionId }), entries)
  const loaded = await getSessionMessages(sessionId, { sessionStore })
  const read = entry => ({ type: entry.type, message: entry.message })
  assert.deepEqual(loaded.map(({ uuid }) => uuid), entries.map(({ uuid }) => uuid))
  assert.deepEqual(loaded.map(read), entries.map(read))
  const info = await getSessionInfo(sessionId, { sessionStore })
  assert.equal(info?.sessionId ?? sessionId, sessionId)
  const forked = await forkSession(sessionId, { sessionStore })
  const again = await getSessionMessages(forked.sessionId, { sessionStore })
  assert.deepEqual(again.map(read), entries.map(read))
}

/** Puts the streams together that were put together before, and compares the messages. */
async function assemble () {
  const lines = readFileSync(join(directory, 'assembled.jsonl'), 'utf8').trimEnd().split('\n')
  for (const { chunks, message } of lines.map(line => JSON.parse(line))) {
    assert.deepEqual(whole(await held(chunks)), message)
  }
  console.log(`\nreadUIMessageStream puts ${lines.length} streams together as they were`)
}

/** Takes away what says how a text came, and fields without a value. */
function whole (message) {
  for (const part of message.parts.filter(({ type }) => ['text', 'reasoning'].includes(type))) {
    delete part.id
    delete part.state
  }
  return message
}

/** Returns a chat as a user interface holds it: what a person sent, and answers that were put together from streams. */
async function chatOfUser () {
  const cached = { providerMetadata: { anthropic: { cacheControl: { type: 'ephemeral' } } } }
  const encrypted = { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'gAAA' } }
  const call = (toolCallId, input) => [
    { type: 'tool-input-start', toolCallId, toolName: 'weather', title: 'Weather' },
    { type: 'tool-input-available', toolCallId, toolName: 'weather', input }
  ]
  const text = (id, delta, more) => [
    { type: 'text-start', id }, { type: 'text-delta', id, delta }, { type: 'text-end', id, ...more }
  ]
  const thought = (id, delta, providerMetadata) => [
    { type: 'reasoning-start', id }, { type: 'reasoning-delta', id, delta }, { type: 'reasoning-end', id, providerMetadata }
  ]
  const answer = [
    { type: 'start', messageId: 'm2', messageMetadata: { model: 'large', usage: { tokens: 7 } } },
    { type: 'start-step' },
    ...thought('r1', 'Which one?', { anthropic: { signature: 'c2ln' } }),
    ...text('t1', 'Let me see.', cached),
    ...thought('r2', 'Oslo.', encrypted),
    ...call('c1', { city: 'Oslo' }),
    ...call('c2', { city: 'Nowhere' }),
    { type: 'tool-output-available', toolCallId: 'c1', output: { sky: 'clear', hours: [1, null] } },
    { type: 'tool-output-error', toolCallId: 'c2', errorText: 'no such city' },
    { type: 'data-weather', id: 'd1', data: { sky: 'clear' } },
    { type: 'finish-step' },
    { type: 'start-step' },
    { type: 'source-url', sourceId: 's1', url: 'https://example.org/oslo', title: 'Oslo' },
    { type: 'source-document', sourceId: 's2', mediaType: 'application/pdf', title: 'Guide', filename: 'guide.pdf' },
    ...text('t2', 'It is sunny.'),
    { type: 'file', mediaType: 'image/png', url: 'https://example.org/oslo.png' },
    ...text('t3', 'Look.'),
    { type: 'finish-step' },
    { type: 'finish', messageMetadata: { finishReason: 'stop' } }
  ]
  const asking = [
    { type: 'start', messageId: 'm4' },
    { type: 'start-step' },
    { type: 'tool-input-start', toolCallId: 'c3', toolName: 'book', dynamic: true, providerExecuted: true },
    { type: 'tool-input-available', toolCallId: 'c3', toolName: 'book', input: { seat: 1 }, dynamic: true },
    { type: 'tool-approval-request', toolCallId: 'c3', approvalId: 'a1' }
  ]
  const stopped = [
    { type: 'start', messageId: 'm5' },
    { type: 'start-step' },
    { type: 'text-start', id: 't4' },
    { type: 'text-delta', id: 't4', delta: 'I was' }
  ]
  const streaming = [
    { type: 'start', messageId: 'm6' },
    { type: 'start-step' },
    { type: 'tool-input-start', toolCallId: 'c4', toolName: 'weather' },
    { type: 'tool-input-delta', toolCallId: 'c4', inputTextDelta: '{"city": "Os' }
  ]
  const picture = { type: 'file', mediaType: 'image/jpeg', filename: 'harbour.jpg', url: 'https://example.org/h.jpg' }
  const first = { id: 'm1', role: 'user', metadata: { sent: 1 }, parts: [{ type: 'text', text: 'Where?' }, picture] }
  const second = { id: 'm3', role: 'user', parts: [{ type: 'text', text: 'Book it.' }] }
  const asked = await held(asking)
  const denied = structuredClone(asked)
  denied.id = 'm7'
  Object.assign(denied.parts.at(-1), {
    toolCallId: 'c5', state: 'output-denied', approval: { id: 'a2', approved: false, reason: 'too dear' }
  })
  const messages = [first, await held(answer), second, asked, await held(stopped), await held(streaming), denied]
  await validateUIMessages({ messages })
  return messages
}

/** Returns the message that a stream becomes. */
async function held (chunks) {
  const stream = new ReadableStream({
    start (controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    }
  })
  let last
  for await (const read of readUIMessageStream({ stream, onError: error => { throw error } })) last = read
  return JSON.parse(JSON.stringify(last))
}

const path = new URL('../../fixtures/written/ui-message.jsonl', import.meta.url)
const written = JSON.stringify({ messages: await chatOfUser() }) + '\n'
if (directory === '--write') {
  writeFileSync(path, written)
  process.exit()
}
assert.equal(readFileSync(path, 'utf8'), written, 'the fixture is not what the AI SDK holds')
await each('ui-message', 'validateUIMessages, convertToModelMessages', loadUIMessages)
await each('acp', 'session/load of the ACP SDK', loadUpdates)
await each('claude-agent-sdk', 'getSessionMessages, forkSession of its npm package', loadSession)
await assemble()
