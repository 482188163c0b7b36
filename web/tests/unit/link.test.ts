// The socket that comes back, and the outbox that loses nothing, in a world whose time stands still.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Decision } from "../../src/lib/contract.ts";
import { Frames } from "../../src/lib/frames.ts";
import {
  Outbox,
  type OutboxStore,
  type NewCommand,
  type PendingCommand,
  type ClientCommand,
} from "../../src/lib/outbox.ts";
import { Link, ConnectionLost, Refusal, type World } from "../../src/lib/socket.ts";

class FakeSocket {
  sent: { id: number; method: string; params: unknown }[] = [];
  closed = false;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.closed = true;
  }
  answer(id: number, result: unknown) {
    this.onmessage?.({ data: JSON.stringify({ jsonrpc: "2.0", id, result }) });
  }
}

function stage(isDenied = false) {
  const sockets: FakeSocket[] = [];
  const timers: { run: () => void; ms: number; off?: boolean }[] = [];
  const told: string[] = [];
  const world: World = {
    connect: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    now: () => 0,
    later: (run, ms) => {
      const timer = { run, ms };
      timers.push(timer);
      return timer;
    },
    cancel: (timer) => {
      if (timer) (timer as { off?: boolean }).off = true;
    },
  };
  const link = new Link(
    () => "ws://x",
    {
      state: (state) => told.push(state),
      opened: () => told.push("opened"),
      notified: (method) => told.push(`got ${method}`),
      denied: async () => isDenied,
    },
    world,
  );
  link.start();
  const due = (least: number, most: number) => {
    const timer = timers.find((one) => !one.off && one.ms >= least && one.ms <= most);
    assert.ok(timer, `a timer between ${least} and ${most} ms`);
    timer.off = true;
    timer.run();
  };
  return { link, sockets, told, due, last: () => sockets.at(-1) as FakeSocket };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("answers find their calls, whatever their order", async () => {
  const { link, last, told } = stage();
  await assert.rejects(link.call("ping", {}), ConnectionLost);
  last().onopen?.();
  const [one, two] = [link.call("ping", {}), link.call("ping", {})];
  last().answer(2, "second");
  last().answer(1, "first");
  assert.deepEqual(await Promise.all([one, two]), ["first", "second"]);
  last().onmessage?.({ data: '{"jsonrpc":"2.0","method":"event","params":{}}' });
  last().onmessage?.({ data: "no json" });
  assert.deepEqual(told, ["open", "opened", "got event"]);
});

test("a refusal brings its problem", async () => {
  const { link, last } = stage();
  last().onopen?.();
  const call = link.call("ping", {});
  last().onmessage?.({
    data: JSON.stringify({
      id: 1,
      error: { code: -32000, message: "no", data: { code: "busy", status: 503, title: "busy", retry: true } },
    }),
  });
  await assert.rejects(call, (error) => error instanceof Refusal && error.problem.code === "busy");
});

test("a socket that ends is followed by another, and who waits is told", async () => {
  const { link, sockets, last, told, due } = stage();
  last().onopen?.();
  const call = link.call("ping", {});
  last().onclose?.();
  await assert.rejects(call, ConnectionLost);
  due(150, 400);
  assert.equal(sockets.length, 2);
  last().onopen?.();
  assert.deepEqual(told, ["open", "opened", "waiting", "connecting", "open", "opened"]);
});

test("attempts get rarer, and a poke does not wait", async () => {
  const { link, sockets, last, due } = stage();
  for (const most of [400, 700, 1_300]) {
    last().onclose?.();
    await settled();
    due(100, most);
  }
  last().onclose?.();
  link.poke();
  assert.equal(sockets.length, 5);
});

test("a ping that nobody answers ends the socket", async () => {
  const { link, sockets, last, due } = stage();
  last().onopen?.();
  link.poke();
  assert.equal(last().sent[0]?.method, "ping");
  due(5_000, 8_000);
  await settled();
  assert.ok(sockets[0]?.closed);
  assert.equal(link.state, "waiting");
});

test("whoever is no longer known does not knock for ever", async () => {
  const { link, last } = stage(true);
  last().onclose?.();
  await settled();
  assert.equal(link.state, "denied");
});

function memoryStore(): OutboxStore & { kept: Map<string, PendingCommand> } {
  const kept = new Map<string, PendingCommand>();
  const claim = async (key: string) => {
    const [found, waits] = [kept.get(key), kept.get(key)?.state === "waiting"];
    if (found && waits) kept.set(key, { ...found, state: "sending" });
    return waits;
  };
  return {
    kept,
    claim,
    all: async () => [...kept.values()],
    put: async (command) => void kept.set(command.key, structuredClone(command)),
    remove: async (key) => void kept.delete(key),
    clear: async () => kept.clear(),
  };
}
const command = (key: string, call: ClientCommand = { method: "prompt", params: { content: key } }): NewCommand => ({
  key,
  at: Number(key),
  session: call.method === "open" ? "" : "s",
  says: key,
  ...call,
});
const decision = (decision: Decision): ClientCommand => ({ method: "decide", params: { approval: "a", decision } });
const opening: ClientCommand = { method: "open", params: { agent: "codex", cwd: "/w" } };

test("a command made offline is kept on disk and sent when there is a link, in order, once", async () => {
  const disk = memoryStore();
  let online = false;
  const sent: string[] = [];
  const send = async (one: PendingCommand) => {
    if (!online) throw new ConnectionLost();
    sent.push(one.key);
    return { seq: 5 };
  };
  const first = new Outbox(disk, send, () => {});
  await first.add(command("1"));
  await first.add(command("2"));
  assert.deepEqual([...disk.kept.keys()], ["1", "2"]);

  // The tab is closed, and another one finds what it left.
  const second = new Outbox(disk, send, () => {});
  await second.load();
  online = true;
  await Promise.all([second.flush(), second.flush()]);
  assert.deepEqual(sent, ["1", "2"]);
  assert.equal(disk.kept.size, 0);
  assert.deepEqual(
    second.commands.map((one) => one.state),
    ["done", "done"],
  );
  second.reached("s", 5);
  await settled();
  assert.equal(second.commands.length, 0);
});

test("a prompt that the log tells of is there, whatever becomes of the answer", async () => {
  const disk = memoryStore();
  let lose = () => {};
  const outbox = new Outbox(
    disk,
    () => new Promise((_, reject) => (lose = () => reject(new ConnectionLost()))),
    () => {},
  );
  const adding = outbox.add(command("1"));
  await settled();
  outbox.arrived(["0", "1"]);
  await settled();
  assert.deepEqual([outbox.commands.length, disk.kept.size], [0, 0]);
  lose();
  await adding;
  assert.deepEqual([outbox.commands.length, disk.kept.size], [0, 0], "not sent again");
});

test("what is refused stays with its reason until it is let go", async () => {
  const disk = memoryStore();
  const problem = { code: "ask_expired", status: 410, title: "the agent no longer waits for this", retry: false };
  const outbox = new Outbox(
    disk,
    async () => Promise.reject(new Refusal(problem)),
    () => {},
  );
  await outbox.add(command("1", decision("deny")));
  assert.deepEqual(
    [outbox.commands[0]?.state, outbox.commands[0]?.problem?.code, disk.kept.size],
    ["refused", "ask_expired", 1],
  );
  await outbox.remove("1");
  assert.equal(disk.kept.size, 0);
});

test("a decision whose answer was lost is not a conflict with itself", async () => {
  const problem = {
    code: "already_decided",
    status: 409,
    title: "decided",
    retry: false,
    details: { decision: { decision: "deny", by: "me" } },
  };
  const outbox = new Outbox(
    memoryStore(),
    async () => Promise.reject(new Refusal(problem)),
    () => {},
  );
  await outbox.add(command("1", decision("deny")));
  await outbox.add(command("2", decision("allow_once")));
  assert.deepEqual(
    outbox.commands.map((one) => [one.key, one.state]),
    [["2", "refused"]],
  );
});

test("a session is opened once: by one page, and not again when nobody knows whether it was", async () => {
  const disk = memoryStore();
  let link: "none" | "breaks" | "works" = "none";
  const opened: string[] = [];
  const send = async ({ key }: PendingCommand) => {
    if (link === "none") throw new ConnectionLost(false);
    opened.push(key);
    if (link === "breaks") throw new ConnectionLost();
    return {};
  };
  const [page, other] = [new Outbox(disk, send, () => {}), new Outbox(disk, send, () => {})];
  for (const key of ["1", "2"]) await page.add(command(key, opening));
  await other.load();
  assert.deepEqual(
    [opened, page.commands.map((one) => one.state)],
    [[], ["waiting", "waiting"]],
    "what was not sent waits",
  );
  link = "works";
  await Promise.all([page.flush(), other.flush()]);
  assert.deepEqual(opened.sort(), ["1", "2"], "each of them, and once");

  link = "breaks";
  await page.add(command("3", opening));
  link = "works";
  await page.flush();
  assert.deepEqual(
    [opened.length, disk.kept.get("3")?.state, disk.kept.get("3")?.problem?.code],
    [3, "refused", "unsure"],
  );

  // The page ended while it was being sent.
  disk.kept.set("4", { ...command("4", opening), state: "sending" });
  const next = new Outbox(disk, send, () => {});
  await next.load();
  await next.flush();
  assert.deepEqual([opened.length, next.commands.find((one) => one.key === "4")?.state], [3, "refused"]);
});

test("whoever comes next sends nothing of what was left", async () => {
  const disk = memoryStore();
  const outbox = new Outbox(
    disk,
    async () => Promise.reject(new ConnectionLost()),
    () => {},
  );
  await outbox.add(command("1"));
  const loading = outbox.load();
  await outbox.clear();
  await loading;
  assert.deepEqual([outbox.commands.length, disk.kept.size], [0, 0]);
});

test("many events are drawn once", () => {
  const waiting: (() => void)[] = [];
  let drawn = 0;
  const frames = new Frames(
    () => drawn++,
    (run) => waiting.push(run),
  );
  for (let at = 0; at < 100; at++) frames.ask();
  assert.equal(waiting.length, 1);
  waiting.pop()?.();
  frames.ask();
  waiting.pop()?.();
  assert.equal(drawn, 2);
});
