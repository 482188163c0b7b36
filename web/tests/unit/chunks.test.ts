// The chunks protocol: streams that the hub has recorded, read by the client of this folder.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Answer } from "../../src/lib/chunks/answer.ts";
import { Conversation, Refused } from "../../src/lib/chunks/conversation.ts";
import { Splitter } from "../../src/lib/chunks/split.ts";
import type { Chunk, ToolCallResponse } from "../../src/lib/chunks/wire.ts";

type Whole = { message: string; citations: string[]; tool_calls: ToolCallResponse[]; thinking: string | null };
type Recorded = { name: string; bare: string; lines?: string; events?: string; whole: Whole };
const recorded = JSON.parse(readFileSync("../crates/longshore-facades/contract/chunks.json", "utf8")) as Recorded[];

function split(text: string, size: number): Chunk[] {
  const splitter = new Splitter();
  const found: Chunk[] = [];
  for (let at = 0; at < text.length; at += size) found.push(...splitter.push(text.slice(at, at + size)));
  assert.ok(!splitter.isOpen);
  return found;
}

function answerOf(chunks: Chunk[]): Answer {
  const answer = new Answer();
  for (const chunk of chunks) answer.apply(chunk);
  return answer;
}

function isWhole(answer: Answer, whole: Whole, name: string): void {
  assert.equal(answer.message, whole.message, name);
  assert.equal(answer.thinking, whole.thinking ?? "", name);
  assert.deepEqual(answer.citations, whole.citations, name);
  const calls = [...answer.calls.values()];
  assert.deepEqual(
    calls.map((call) => [call.call_id, call.event_type, call.tool_name, call.tool_response, call.summary]),
    whole.tool_calls.map((call) => [
      call.call_id,
      call.event_type,
      call.tool_name,
      call.tool_response,
      call.tool_call_details?.summary,
    ]),
    name,
  );
  for (const call of calls) assert.ok(call.is_complete && !call.is_streaming, `${name}: ${call.tool_name} has ended`);
  assert.deepEqual(answer.running, [], name);
}

test("every recorded stream is the answer that the hub gives in one object", () => {
  assert.ok(recorded.length >= 10);
  for (const { name, bare, whole } of recorded) isWhole(answerOf(split(bare, 4096)), whole, name);
});

test("it does not matter where the network cuts, nor how objects are framed", () => {
  for (const { name, bare, lines, events, whole } of recorded) {
    if (!lines || !events) continue;
    for (const size of [1, 2, 7, 1000]) {
      for (const text of [bare, lines, events]) isWhole(answerOf(split(text, size)), whole, name);
    }
  }
});

test("braces and quotes in texts, and what stands between objects, mislead nobody", () => {
  const odd = '  } "data: " {"message":"}{ \\"{\\\\","tool_calls":[]}\n\n: keep "alive\n{"message":"x"}{}';
  for (const size of [1, 3, odd.length]) {
    assert.equal(answerOf(split(odd, size)).message, '}{ "{\\x');
  }
  const broken = new Splitter();
  assert.deepEqual(broken.push("{nonsense}"), []);
  assert.deepEqual(broken.push('{"message":"go on"}'), [{ message: "go on" }]);
});

test("a call goes from its beginning over its pieces to its result", () => {
  const call = (more: Partial<ToolCallResponse>): Chunk => ({
    tool_calls: [
      {
        call_id: "1",
        event_type: "call",
        tool_name: "Bash",
        tool_response: "Running: make",
        tool_call_details: { summary: "make", arguments: { command: "make" } },
        is_complete: true,
        ...more,
      },
    ],
  });
  const answer = new Answer();
  answer.apply(call({}));
  assert.deepEqual([answer.running.length, answer.running[0]?.is_streaming], [1, false]);
  for (const stream_part of ["one ", "two"]) {
    answer.apply(call({ stream_part, is_complete: false, tool_call_details: { summary: "" }, tool_response: "" }));
  }
  const running = answer.running[0];
  assert.deepEqual(
    [running?.accumulated_stream, running?.is_streaming, running?.summary, running?.tool_response],
    ["one two", true, "make", "Running: make"],
  );
  answer.apply(call({ event_type: "error", tool_response: "Failed", tool_call_details: null }));
  const ended = answer.calls.get("1");
  assert.deepEqual([ended?.is_complete, ended?.is_error, ended?.accumulated_stream], [true, true, ""]);
  assert.deepEqual(ended?.arguments, { command: "make" });
  answer.apply(call({ call_id: "" }));
  assert.equal(answer.calls.size, 1);
});

function served(bodies: (string | number)[]): { seen: [string, string | null][]; fetch: typeof fetch } {
  const seen: [string, string | null][] = [];
  const answer: typeof fetch = async (input, init) => {
    const url = new URL(String(input));
    seen.push([`${init?.method} ${url.pathname}${url.search}`, new Headers(init?.headers).get("last-event-id")]);
    const body = bodies.shift();
    if (body === undefined) throw new TypeError("network");
    if (typeof body === "number") return new Response('{"detail":"no"}', { status: body });
    return new Response(body);
  };
  return { seen, fetch: answer };
}

test("a stream that breaks goes on behind the last object, and nothing is shown twice", async () => {
  const stream = recorded.find((one) => one.name === "tool 1");
  const events = stream?.events ?? "";
  const cut = events.indexOf("id: ", events.indexOf('stream_part":"')) + 9;
  const last = events
    .slice(0, cut)
    .split("\n\n")
    .slice(0, -1)
    .at(-1)
    ?.match(/id: (\d+)/)?.[1];
  const rest = events
    .slice(events.indexOf(`id: ${last}`))
    .split("\n\n")
    .slice(1)
    .join("\n\n");
  const hub = served([events.slice(0, cut), 503, rest]);
  const conversation = new Conversation("c", { base: "http://hub.example", fetch: hub.fetch, waits: [0, 0] });
  let changes = 0;
  const answer = await conversation.send("go", "conversation:u:1", () => changes++);
  assert.ok(stream && changes >= 3);
  isWhole(answer, stream.whole, "tool");
  const path = "POST /api/v1/conversations/c/message?stream=true&format=sse&session_id=conversation%3Au%3A1";
  assert.deepEqual(hub.seen, [
    [path, null],
    [path, last],
    [path, last],
  ]);
});

test("a refusal is told at once, and a network that stays away in the end", async () => {
  const refused = served([400]);
  const open = (hub: { fetch: typeof fetch }) =>
    new Conversation("c", { base: "http://hub.example/with-token/t", fetch: hub.fetch, waits: [0] });
  await assert.rejects(
    open(refused).resume("x", () => {}),
    (error) => error instanceof Refused && error.status === 400,
  );
  assert.deepEqual(refused.seen, [["POST /with-token/t/api/v1/conversations/c/resume/x?format=sse", null]]);
  const away = served([]);
  await assert.rejects(
    open(away).resume("x", () => {}),
    TypeError,
  );
  assert.equal(away.seen.length, 2);
  assert.equal(await open(served([404])).active(), undefined);
  const active = served(['{"sessionId":"s","status":"active"}', "{}"]);
  assert.equal(await open(active).active(), "s");
  await open(active).stop();
  assert.equal(active.seen[1]?.[0], "POST /with-token/t/api/v1/conversations/c/stop");
});
