// An agent of the Agent Client Protocol, made with its SDK, that asks before it answers. It cannot load sessions.

import { Readable, Writable } from 'node:stream';

import { PROTOCOL_VERSION, agent, methods, ndJsonStream } from '@agentclientprotocol/sdk';

let sessions = 0;

const text = (words) => ({ type: 'text', text: words });

agent({ name: 'asking' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: { loadSession: false },
  }))
  .onRequest(methods.agent.session.new, () => {
    sessions += 1;
    return { sessionId: `asking_${process.pid}_${sessions}` };
  })
  .onRequest(methods.agent.session.prompt, async ({ client, params: { sessionId, prompt } }) => {
    const update = (sent) => client.notify(methods.client.session.update, { sessionId, update: sent });
    const toolCall = { toolCallId: `call_${Date.now()}`, title: 'Count the letters', kind: 'other' };
    await update({ sessionUpdate: 'agent_thought_chunk', content: text('I must count.') });
    await update({ sessionUpdate: 'tool_call', ...toolCall, status: 'pending', rawInput: { prompt } });
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall,
      options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }],
    });
    const answer = String(prompt[0].text.length);
    await update({
      sessionUpdate: 'tool_call_update',
      toolCallId: toolCall.toolCallId,
      status: outcome.optionId === 'yes' ? 'completed' : 'failed',
      rawOutput: answer,
      content: [{ type: 'content', content: text(answer) }],
    });
    for (const piece of ['It has ', answer, ' letters.']) {
      await update({ sessionUpdate: 'agent_message_chunk', content: text(piece) });
    }
    return { stopReason: 'end_turn' };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
