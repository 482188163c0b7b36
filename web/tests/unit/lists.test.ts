// Lists, routes, keys, usage, and what a device is offered.
import assert from "node:assert/strict";
import { test } from "node:test";
import { collect, emptyEntry } from "../../src/lib/answers.ts";
import { mayAct, mayDecide, offers } from "../../src/lib/abilities.ts";
import type { Field, OpenApproval, Session, DayUsage } from "../../src/lib/contract.ts";
import { standing } from "../../src/lib/describe.ts";
import { asks, board, holding, listRows, waitingCount } from "../../src/lib/groups.ts";
import { Keys } from "../../src/lib/keys.ts";
import { afterResume } from "../../src/lib/queue.ts";
import { parseRoute, pathOf, type Route } from "../../src/lib/route.ts";
import { bars, ceiling, totals } from "../../src/lib/usage.ts";
import { cutAsks, withWhole } from "../../src/lib/whole.ts";

const CAPABILITIES = {
  approvals: true,
  attachments: true,
  custom: {},
  filtering: false,
  fork: true,
  interrupt: true,
  listSessions: true,
  models: true,
  modes: ["ask", "full"],
  multiTurn: true,
  openSession: true,
  pagination: true,
  sendPrompt: true,
  steer: true,
  streaming: true,
} as Session["capabilities"];

function session(id: string, more: Partial<Session> = {}): Session {
  return {
    sessionId: id,
    provider: "a",
    title: id,
    status: "idle",
    activity: "idle",
    cwd: "/p",
    createdAt: "",
    updatedAt: id,
    mode: "ask",
    capabilities: CAPABILITIES,
    head: 1,
    usage: {},
    archived: false,
    queueHeld: false,
    cutByRestart: false,
    ...more,
  };
}

test("sessions stand by project, newest first, delegated ones with their parent", () => {
  const rows = listRows(
    [
      session("1"),
      session("3", { cwd: "/q" }),
      session("2"),
      session("4", { parent: "1" }),
      session("5", { archived: true }),
    ],
    "all",
    false,
  );
  assert.deepEqual(
    rows.map((row) =>
      row.kind === "group" ? `# ${row.path} ${row.many}` : `${row.session.sessionId} +${row.children}`,
    ),
    ["# /q 1", "3 +0", "# /p 2", "2 +0", "1 +1"],
  );
  assert.deepEqual(listRows([session("1"), session("5", { archived: true })], "all", true).length, 2);
  assert.equal(listRows([session("1")], "waiting", false).length, 0);
});

test("the board has who needs somebody, who works, what is done, and what is long done", () => {
  const now = Date.parse("2026-11-16T12:00:00Z");
  const at = (id: string, updatedAt: string, more: Partial<Session> = {}) => session(id, { updatedAt, ...more });
  const sessions = [
    at("asks late", "2026-11-16T11:50:00Z", { status: "active", activity: "waiting" }),
    at("asks", "2026-11-16T11:00:00Z", { status: "active", activity: "waiting" }),
    at("cut", "2026-11-16T11:30:00Z", { status: "interrupted", activity: "sleeping", cutByRestart: true }),
    at("works", "2026-11-16T11:59:00Z", { status: "active", activity: "working" }),
    at("starts", "2026-11-16T11:58:00Z", { activity: "starting" }),
    at("done", "2026-11-16T10:00:00Z"),
    at("failed", "2026-11-15T13:00:00Z", { status: "error" }),
    at("old", "2026-11-01T13:00:00Z"),
    at("helper", "2026-11-16T11:59:00Z", { parent: "works", status: "active", activity: "working" }),
    at("away", "2026-11-16T11:59:00Z", { archived: true }),
    at("ended", "2026-11-16T11:59:00Z", { activity: "closed" }),
  ];
  assert.deepEqual(
    board(sessions, now).map((column) => [column.id, column.sessions.map((one) => one.sessionId)]),
    [
      ["waiting", ["asks", "cut", "asks late"]],
      ["working", ["works", "starts"]],
      ["done", ["done", "failed"]],
      ["earlier", ["old"]],
    ],
  );
});

test("a device counts what it may answer", () => {
  const sessions = [
    session("1", { approvals: [{}, {}] as OpenApproval[], questions: [{}] as Session["questions"] }),
    session("2", { cutByRestart: true }),
  ];
  assert.deepEqual(
    (["full", "approve", "read_only"] as const).map((mode) => waitingCount(sessions, { role: "device", mode })),
    [4, 2, 0],
  );
});

test("a session with held prompts needs somebody, and is counted once", () => {
  const queue = [
    { prompt: "p", text: "next" },
    { prompt: "q", text: "held", held: true },
  ] as Session["queue"];
  const sessions = [
    session("1", { queue }),
    session("2", { queue, cutByRestart: true }),
    session("3", { queue, archived: true }),
    session("4", { queue: queue?.slice(0, 1) }),
  ];
  assert.deepEqual(
    holding(sessions).map((one) => one.sessionId),
    ["1"],
    "a resume sends on what a restart held",
  );
  assert.deepEqual(
    sessions.map(afterResume),
    ["", "Resume sends the held prompt after it.", "", ""],
    "and that is said",
  );
  assert.equal(waitingCount(sessions, undefined), 2);
  assert.deepEqual(
    listRows(sessions, "waiting", false).flatMap((row) => (row.kind === "session" ? row.key : [])),
    ["2", "1"],
  );
  assert.deepEqual(
    listRows(sessions, "rest", false).flatMap((row) => (row.kind === "session" ? row.key : [])),
    ["4"],
  );
});

test("what waits is listed oldest first, the same thing once", () => {
  const approval = (id: string, at: string, command: string): OpenApproval => ({
    approval: id,
    requestedAt: at,
    seq: 1,
    session: "1",
    options: ["allow_once", "deny"],
    subject: { kind: "command", command },
  });
  const waiting = session("1", {
    approvals: [approval("a", "2", "make"), approval("b", "3", "make"), approval("c", "1", "ls")],
    questions: [{ question: "q", askedAt: "0", seq: 1, session: "1", fields: [] }],
  });
  assert.deepEqual(
    asks([waiting]).map((ask) => [ask.key, ask.kind === "approval" ? ask.approvals.length : 0]),
    [
      ["q", 0],
      ["c", 1],
      ["a", 2],
    ],
  );
});

test("what is not known whole is like nothing else, and stays whole once it was", () => {
  const approval = (id: string, more: Partial<OpenApproval>): OpenApproval => ({
    approval: id,
    requestedAt: id,
    seq: 1,
    session: "1",
    options: ["allow_once", "deny"],
    subject: { kind: "command", command: "a … b" },
    ...more,
  });
  const cut = session("1", { approvals: [approval("a", { cut: true }), approval("b", { cut: true })] });
  assert.equal(asks([cut]).length, 2);
  const whole = approval("a", { subject: { kind: "command", command: "a rm b" } });
  const known = withWhole(cut, { approvals: [whole] });
  assert.deepEqual([known.approvals?.[0], cutAsks(known)], [whole, 1]);
  assert.equal(withWhole(cut, known).approvals?.[0], whole, "a row that is cut takes nothing away");
  assert.equal(withWhole(session("1"), known).approvals, undefined, "and one that is over does not come back");
});

test("a device is offered what it may do and what the agent can", () => {
  const device = (mode: "full" | "read_only" | "approve") => ({ role: "device" as const, mode });
  const busy = session("1", { status: "active", activity: "working" });
  assert.deepEqual(offers(busy, undefined, device("full")).whens, ["queue", "steer", "interrupt"]);
  const watcher = offers(busy, undefined, device("read_only"));
  assert.ok(!watcher.prompt && !watcher.stop && !watcher.fork && !watcher.decide && !watcher.close && watcher.why);
  const approver = offers(busy, undefined, device("approve"));
  assert.ok(approver.decide && !approver.answer && !approver.prompt);
  assert.ok(!mayAct(device("approve")) && mayDecide(device("approve")) && !mayDecide(device("read_only")));
  const plain = offers(
    session("1", {
      status: "active",
      capabilities: {
        ...CAPABILITIES,
        steer: false,
        interrupt: false,
        attachments: false,
        fork: false,
        modes: ["ask"],
        models: false,
      },
    }),
    undefined,
    undefined,
  );
  assert.deepEqual(plain.whens, ["queue"]);
  assert.ok(plain.prompt && !plain.stop && !plain.attach && !plain.fork && plain.modes.length === 0);
  assert.ok(!offers(session("1", { activity: "closed" }), undefined, undefined).prompt);
});

test("a session stands as its activity says, then its last turn", () => {
  const word = (activity: Session["activity"], status: Session["status"]) =>
    standing({ activity, status, cutByRestart: false }).word;
  assert.deepEqual(
    [
      word("waiting", "active"),
      word("sleeping", "error"),
      word("sleeping", "idle"),
      word("idle", "interrupted"),
      word("sleeping", "interrupted"),
      word("closed", "error"),
    ],
    ["needs you", "failed", "sleeping", "interrupted", "interrupted", "ended"],
  );
});

test("every screen has an address that leads back to it", () => {
  const routes: Route[] = [
    { screen: "inbox" },
    { screen: "sessions" },
    { screen: "session", id: "x/y" },
    { screen: "session", id: "x", seq: 7 },
    { screen: "changes", id: "x" },
    { screen: "new", cwd: "/a b", agent: "c" },
    { screen: "machines" },
    { screen: "usage" },
  ];
  for (const route of routes) {
    const url = new URL(pathOf(route), "http://x");
    assert.deepEqual(JSON.parse(JSON.stringify(parseRoute(url))), route);
  }
  assert.deepEqual(parseRoute(new URL("http://x/pair#ABCD2345")), { screen: "pair", code: "ABCD2345" });
  assert.deepEqual(parseRoute(new URL("http://x/#/session/abc")), { screen: "session", id: "abc" });
});

test("keys come alone or after another, and not while typing", () => {
  const keys = new Keys();
  const press = (key: string, typing = false, now = 0, repeat = false) =>
    keys.press({ key, ctrlKey: false, metaKey: false, altKey: false, repeat }, typing, now);
  assert.equal(press("?"), "?");
  assert.equal(press("g"), undefined);
  assert.equal(press("s", false, 500), "g s");
  press("g");
  assert.equal(press("s", false, 2_000), undefined);
  assert.equal(press("n", true), undefined);
  assert.equal(press("Escape", true), "Escape");
  assert.deepEqual(
    ["y", "x", "d", "n", "j", "k"].map((key) => press(key, false, 0, true)),
    [undefined, undefined, undefined, undefined, "j", "k"],
    "held down",
  );
});

test("usage is summed by day and by name", () => {
  const rows: DayUsage[] = [
    { day: "2026-01-02", agent: "a", project: "p", input: 10, output: 5, cached: 0, cost: 0.5, turns: 1 },
    { day: "2026-01-02", agent: "b", project: "p", input: 100, output: 0, cached: 0, cost: 0, turns: 1 },
    { day: "2026-01-03", agent: "a", project: "q", input: 1, output: 1, cached: 0, cost: 0.1, turns: 1 },
  ];
  assert.deepEqual(
    bars(rows, "tokens", 3, "2026-01-03").map((bar) => [bar.day, bar.total, bar.parts.map((part) => part.name).join()]),
    [
      ["2026-01-01", 0, ""],
      ["2026-01-02", 115, "b,a"],
      ["2026-01-03", 2, "a"],
    ],
  );
  assert.deepEqual(
    totals(rows, "cost", (row) => row.project ?? ""),
    [
      { name: "p", value: 0.5 },
      { name: "q", value: 0.1 },
    ],
  );
  assert.deepEqual([0, 7, 115, 2_400].map(ceiling), [1, 10, 200, 2_500]);
});

test("a form gives the answers that its fields ask for", () => {
  const field = (id: string, kind: Field["kind"], more: Partial<Field> = {}): Field => ({
    id,
    kind,
    label: id,
    text: "",
    ...more,
  });
  const fields = [
    field("t", "text"),
    field("n", "number"),
    field("i", "integer"),
    field("b", "boolean"),
    field("o", "one", { open: true }),
    field("m", "many"),
    field("x", "text", { optional: true }),
  ];
  const entries = Object.fromEntries(fields.map(({ id }) => [id, emptyEntry()]));
  assert.deepEqual(collect(fields, entries).missing, ["t", "n", "i", "b", "o", "m"]);
  Object.assign(entries["t"]!, { text: "words" });
  Object.assign(entries["n"]!, { text: "1,5" });
  Object.assign(entries["i"]!, { text: "1.5" });
  Object.assign(entries["b"]!, { yes: false });
  Object.assign(entries["o"]!, { chosen: ["a"], other: " else " });
  Object.assign(entries["m"]!, { chosen: ["a", "b"] });
  assert.deepEqual(collect(fields, entries), {
    answers: { t: "words", n: 1.5, b: false, o: "else", m: ["a", "b"] },
    missing: ["i"],
  });
});
