// Loads every rendering for the AI SDK, the Agent Client Protocol and the Claude Agent SDK with their packages.
//
//     node loaded.js DIRECTORY
//
// Nothing is sent anywhere: the libraries only accept or reject the input.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
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
  const calls = parts(model, 'tool-call').map(part => part.toolCallId)
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
    const stream = new ReadableStream({
      start (controller) {
        for (const chunk of chunks) controller.enqueue(chunk)
        controller.close()
      }
    })
    let last
    for await (const read of readUIMessageStream({ stream, onError: error => { throw error } })) last = read
    assert.deepEqual(whole(last), message)
  }
  console.log(`\nreadUIMessageStream puts ${lines.length} streams together as they were`)
}

/** Takes away what says how a text came, and fields without a value. */
function whole (message) {
  const read = JSON.parse(JSON.stringify(message))
  for (const part of read.parts.filter(({ type }) => ['text', 'reasoning'].includes(type))) {
    delete part.id
    delete part.state
  }
  return read
}

await each('ui-message', 'validateUIMessages, convertToModelMessages', loadUIMessages)
await each('acp', 'session/load of the ACP SDK', loadUpdates)
await each('claude-agent-sdk', 'getSessionMessages, forkSession of its npm package', loadSession)
await assemble()
