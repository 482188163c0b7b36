// A small MCP server on stdio for the tests. Its tool `confirm` asks a person; its tool `write` changes something.
import { createInterface } from 'node:readline';

const tools = [
  { name: 'confirm', description: 'asks the user', annotations: { readOnlyHint: true } },
  { name: 'write', description: 'writes', annotations: { readOnlyHint: false, destructiveHint: true } },
].map((tool) => ({ ...tool, inputSchema: { type: 'object', properties: { x: { type: 'string' } } } }));

const form = {
  type: 'object',
  properties: { ok: { type: 'boolean', title: 'OK?' }, name: { type: 'string' } },
  required: ['ok'],
};

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const say = (id, text) => send({ id, result: { content: [{ type: 'text', text }] } });
const waiting = new Map();
let asked = 1000;

const answers = {
  initialize: (id, params) =>
    send({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'demo', version: '1' },
      },
    }),
  'tools/list': (id) => send({ id, result: { tools } }),
  'tools/call': (id, params) => {
    if (params.name !== 'confirm') return say(id, 'wrote');
    asked += 1;
    waiting.set(asked, (answer) => say(id, `elicited ${JSON.stringify(answer.result ?? answer.error)}`));
    send({ id: asked, method: 'elicitation/create', params: { message: 'Really?', requestedSchema: form } });
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method && message.id !== undefined) {
    const answer = answers[message.method] ?? ((id) => send({ id, result: {} }));
    answer(message.id, message.params);
  } else if (waiting.has(message.id)) {
    waiting.get(message.id)(message);
    waiting.delete(message.id);
  }
}
