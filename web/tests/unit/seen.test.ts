// What is shown of what agents say: nothing that is decided on is hidden, and nothing is said twice.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { effortsOf, knowingModels } from "../../src/lib/abilities.ts";
import { ansiLines } from "../../src/lib/ansi.ts";
import { matchingCommands, typedCommand } from "../../src/lib/commands.ts";
import type { AgentInfo, ModelInfo, Session, SlashCommand, Subject, TimelineItem } from "../../src/lib/contract.ts";
import { contrast, letters, rgbOf } from "../../src/lib/contrast.ts";
import { chunksOf } from "../../src/lib/cut-rows.ts";
import { begunAt } from "../../src/lib/calls.ts";
import {
  approvalTitle,
  decidedWord,
  decisionWord,
  exitWord,
  heldBecause,
  modelTitle,
  noticeWord,
  plainReason,
  shortDecision,
  sessionTitle,
  turnError,
  verifiedWords,
  withdrawn,
} from "../../src/lib/describe.ts";
import { excerpt, sizeOf } from "../../src/lib/excerpt.ts";
import { reveal } from "../../src/lib/format.ts";
import { interrupted, listRows, marked } from "../../src/lib/groups.ts";
import { marksOf } from "../../src/lib/marks.ts";
import { retryOf, retryWords } from "../../src/lib/retry.ts";
import { dangers } from "../../src/lib/risk.ts";
import { decisionsByItem, newestPlan, visible } from "../../src/lib/shown.ts";
import { MOMENT, moved, Stillness, type Place } from "../../src/lib/still.ts";
import { tickDays } from "../../src/lib/usage.ts";

const END = "rm -rf ../elsewhere";
const PADDINGS: [string, string, RegExp][] = [
  ["empty lines", "\n".repeat(80), /7\d empty lines not shown/],
  ["letters", `echo ${"a".repeat(8_000)};`, /letters not shown/],
  ["blanks", " ".repeat(5_000), /blanks not shown/],
  ["lines", Array.from({ length: 200 }, (_, at) => `echo ${at}`).join("\n") + "\n", /lines, [\d,]+ letters not shown/],
];

test("what is pushed away by padding is seen, and what is hidden is named", () => {
  for (const [name, padding, hidden] of PADDINGS) {
    const text = reveal(`echo begin;${padding}${END}`);
    const pieces = excerpt(text, 12, 8, dangers(text));
    assert.ok(pieces[0]?.text?.startsWith("echo begin"), name);
    assert.ok(pieces.at(-1)?.text?.endsWith(END), name);
    assert.ok(
      pieces.some((piece) => hidden.test(piece.hidden ?? "")),
      `${name}: ${JSON.stringify(pieces.map((piece) => piece.hidden))}`,
    );
    const rows = pieces.reduce(
      (sum, piece) =>
        sum +
        (piece.text ?? "").split("\n").reduce((all, line) => all + Math.max(1, Math.ceil(line.length / 44)), 0) +
        1,
      0,
    );
    assert.ok(rows < 60, `${name}: ${rows} rows`);
  }
});

test("letters without a shape are counted, not laid out", () => {
  assert.equal(reveal(`a${"\u3164".repeat(400)}b`), "a\\u{3164}×400 b");
  assert.equal(reveal(`a${"\u00a0".repeat(3_000)}b`), "a\\xa0×3000 b");
  assert.equal(reveal("a\u2028b\u2003c\u2800d"), "a\\u{2028}b\\u{2003}c\\u{2800}d");
  assert.ok(excerpt(reveal(`echo${"\u00a0".repeat(3_000)}x`), 12, 8).length === 1);
});

test("what is dangerous in the middle of a long command is seen", () => {
  const text = `${"echo a\n".repeat(100)}sudo rm -rf /srv/data\n${"echo b\n".repeat(100)}`;
  const seen = excerpt(text, 12, 8, dangers(text))
    .map((piece) => piece.text ?? "")
    .join("");
  assert.ok(seen.includes("sudo rm -rf /srv/data"));
  assert.ok(seen.length < text.length / 2);
  assert.deepEqual(excerpt("short", 12, 8), [{ text: "short" }]);
  assert.deepEqual([sizeOf(text), sizeOf("x".repeat(1_200))], ["202 lines", "1,200 letters"]);
});

test("what is dangerous is not hidden by many decoys without a word", () => {
  const padding = "echo a\n".repeat(40);
  const decoys = `rm x\n${padding}`.repeat(120);
  const told = (text: string) =>
    excerpt(text, 12, 8, dangers(text))
      .map((piece) => piece.text ?? `[${piece.hidden}]`)
      .join("");
  const last = told(`${decoys}rm -rf important\n${padding}`);
  assert.ok(!last.includes("important"), "there are too many to show all");
  assert.match(last, /letters not shown, with \d+ risky places\]/);
  assert.match(told(`${decoys}sudo ls\n${padding}`), /sudo ls/, "many of one kind crowd out no other");
  assert.doesNotMatch(told(`${padding}rm x\n${padding}`), /risky/, "what is seen is not counted");
});

test("of a long change the beginning and the end are seen, with the count of what is between", () => {
  const rows = Array.from({ length: 200 }, (_, at) => ({
    sign: "+" as const,
    new: at + 1,
    pieces: [{ text: String(at), changed: false }],
  }));
  const chunks = chunksOf(
    [
      { header: "", rows: rows.slice(0, 150) },
      { header: "x", rows: rows.slice(150) },
    ],
    60,
  );
  assert.deepEqual(
    chunks.map((chunk) => [chunk.hidden, chunk.rows.length, chunk.begins]),
    [
      [0, 40, true],
      [140, 20, true],
    ],
  );
  assert.equal(chunks.at(-1)?.rows.at(-1)?.new, 200);
  assert.deepEqual(
    chunksOf([{ header: "", rows }], Infinity).map((chunk) => [chunk.hidden, chunk.rows.length]),
    [[0, 200]],
  );
  const [head, tail] = chunksOf([{ header: "", rows }], 30);
  assert.deepEqual([head?.rows.length, tail?.hidden, tail?.begins], [20, 170, false]);
});

test("a plan is gone ahead with, and sent back with words", () => {
  const plan: Subject = { kind: "plan", plan: "# Mend it\n\n1. look" };
  assert.equal(approvalTitle(plan), "Go ahead with this plan?");
  assert.deepEqual(
    (["allow_once", "allow_session", "deny"] as const).map((one) => decisionWord(one, plan)),
    ["Go ahead", "Go ahead, edit without asking", "Keep planning…"],
  );
  assert.equal(decisionWord("allow_once", { kind: "command", command: "ls" }), "Allow once");
  assert.deepEqual(
    [decidedWord("allow_once", plan), decidedWord("deny", plan), decidedWord("deny")],
    ["plan approved", "asked to keep planning", "denied"],
  );
});

test("a reason does not say again what stands beside it", () => {
  const edit: Subject = { kind: "edit", changes: [{ path: "/w/cart.py", kind: "update", diff: "" }] };
  assert.equal(plainReason("cart.py", edit, []), "");
  assert.equal(plainReason("art.py", edit, []), "art.py");
  assert.equal(plainReason("It changes files.", edit, []), "");
  assert.equal(
    plainReason("It may change something. (deletes)", { kind: "command", command: "rm x" }, [{ word: "deletes" }]),
    "It may change something.",
  );
  assert.deepEqual([shortDecision("allow_once"), shortDecision("cancel")], ["allowed", "denied"]);
});

let seq = 0;
const item = (kind: string, more: object = {}): TimelineItem =>
  ({ kind, seq: ++seq, startedAt: "", endedAt: "x", content: {}, ...more }) as unknown as TimelineItem;
const retry = (at: number) =>
  item("notice", {
    text: `The model's service answered 429: retry ${at} of 10 in 36.0 s.`,
    content: { level: "warning" },
  });

test("tries that follow each other are one line that counts", () => {
  const items = [retry(1), retry(2), retry(3), item("message", { text: "well" }), retry(1)];
  assert.deepEqual(
    visible(items).map((one) => retryOf(one)?.at ?? one.kind),
    [3, "message", 1],
  );
  assert.deepEqual(retryOf(items[2]), { why: "Rate limited", at: 3, of: 10, seconds: 36 });
  const told = (text: string) => retryOf(item("notice", { text, content: { level: "warning" } }));
  assert.deepEqual(told("The model's service answered 429 (rate limit); retry 9 of 10 in 36.0 s."), {
    why: "Rate limited",
    at: 9,
    of: 10,
    seconds: 36,
  });
  assert.deepEqual(told("The model's service answered 429 (rate limit); retry 9 of 10 in 36.0 s. (imported)"), {
    why: "Rate limited",
    at: 9,
    of: 10,
    seconds: 36,
  });
  assert.equal(
    told("The model's service cannot be reached; retry 2 of 10.")?.why,
    "The model's service cannot be reached",
  );
  assert.deepEqual([told("Reconnecting... 2/5")?.at, told("Reconnecting... 2/5")?.of], [2, 5]);
  assert.equal(retryOf(item("notice", { text: "the agent is back", content: { level: "info" } })), undefined);
});

/** Where each driver says that its agent tries again, how, and what is understood. */
const TRIES: [string, string, Record<string, string>, ReturnType<typeof retryOf>][] = [
  [
    "longshore-drivers/src/claude/translate/remarks.rs",
    "; retry {attempt} of {of}",
    { attempt: "2", of: "10", after: " in 3.0 s." },
    { why: "Rate limited", at: 2, of: 10, seconds: 3 },
  ],
  [
    "longshore-drivers/src/claude/translate/remarks.rs",
    "; retrying",
    { after: " in 3.0 s." },
    { why: "Rate limited", at: undefined, of: undefined, seconds: 3 },
  ],
  [
    "longshore-agent/src/machine/turn.rs",
    "; trying again in {seconds} s ({count} of {tries})",
    { seconds: "36.5", count: "9", tries: "10" },
    { why: "Rate limited", at: 9, of: 10, seconds: 36.5 },
  ],
  [
    "longshore-drivers/src/opencode/translate/turns.rs",
    "; OpenCode tries again (attempt {attempt})",
    { attempt: "3" },
    { why: "Rate limited", at: 3, of: undefined, seconds: 0 },
  ],
];

test("whatever an agent says of trying again is understood, in the words of its driver", () => {
  for (const [file, words, values, understood] of TRIES) {
    assert.ok(readFileSync(`../crates/${file}`, "utf8").includes(words), `${file} says it in other words`);
    const filled = words.replace(/\{(\w+)\}/g, (_, name: string) => values[name] as string);
    const text = `The service answered 429${filled}${values["after"] ?? ""}`;
    for (const told of [text, `${text} (imported)`])
      assert.deepEqual(retryOf(item("notice", { text: told, content: { level: "warning" } })), understood, told);
  }
  const words = (retry: object, left: number, live = true) => retryWords({ why: "", seconds: 0, ...retry }, left, live);
  assert.deepEqual(
    [
      words({ at: 2, of: 10, seconds: 36 }, 12),
      words({ at: 2, of: 10, seconds: 36 }, 0),
      words({ at: 2, of: 10 }, 0, false),
    ],
    ["Next try in 12 s (2 of 10).", "Trying again (2 of 10)…", "Tried again 2 of 10 times."],
  );
  assert.deepEqual(
    [words({ at: 3 }, 0), words({ at: 1 }, 0, false), words({ seconds: 3 }, 2), words({}, 0, false)],
    ["Trying again (attempt 3)…", "Tried again 1 time.", "Next try in 2 s.", "Tried again."],
  );
});

test("prompts that are held say what became of the turn before them", () => {
  assert.deepEqual(
    (["interrupted", "error", "idle"] as const).map((status) => heldBecause({ status })),
    ["Interrupted.", "The turn failed.", ""],
  );
});

test("of an agent that was verified it is said what was different, by name, and how much was not", () => {
  const now = Date.parse("2026-11-18T12:00:00Z");
  const verified = {
    version: "2.1.325",
    at: "2026-11-18T09:00:00Z",
    played: 19,
    compared: 19,
    differs: [] as string[],
  };
  const said = (more: Partial<typeof verified>, version = "2.1.325") =>
    verifiedWords({ version, verified: { ...verified, ...more } }, now);
  assert.equal(verifiedWords({ version: "2.1.325" }, now), undefined);
  assert.deepEqual(said({}), { good: true, text: "Verified 3 h ago: all 19 scenarios as recorded" });
  assert.deepEqual(said({ differs: ["plan", "edit"] }), {
    good: false,
    text: "Verified 3 h ago: 17 of 19 scenarios as recorded. Different: plan, edit",
  });
  assert.deepEqual(
    said({ compared: 12, differs: ["plan"] })?.text,
    "Verified 3 h ago: 18 of 19 scenarios as expected. Different: plan",
  );
  assert.deepEqual(said({ compared: 12 }), {
    good: true,
    text: "Verified 3 h ago: all 19 scenarios work, 12 of them compared with a recording",
  });
  assert.deepEqual(said({}, "2.1.400"), { good: false, text: "Verified with 2.1.325 3 h ago, not yet with 2.1.400" });
});

test("a model keeps its name when the hub has forgotten what its agent told", () => {
  const agent = (name: string, models?: ModelInfo[]) => ({ name, models }) as AgentInfo;
  const opus = [{ id: "claude-opus-4-8", title: "Claude Opus 4.8" }] as ModelInfo[];
  const known = knowingModels([agent("claude"), agent("codex", [])], [agent("claude", opus), agent("codex", opus)]);
  assert.equal(modelTitle("claude-opus-4-8", known[0]?.models), "Claude Opus 4.8");
  assert.deepEqual(known[1]?.models, [], "what it tells now counts");
});

test("of the plans of a turn the newest is shown, and one that waits for a yes only with the question", () => {
  const plan = (turn: string, text?: string, steps: object[] = [{ text: "a", status: "pending" }]) =>
    item("plan", { turn, text, content: { steps } });
  const newest = plan("1");
  assert.deepEqual(
    visible([plan("1"), plan("1"), newest, plan("2")]).map((one) => one.seq),
    [newest.seq, seq],
  );
  const asked = item("approval", {
    turn: "3",
    endedAt: undefined,
    content: { request: { approval: "a", options: [], subject: { kind: "plan", plan: "words" } } },
  });
  assert.deepEqual(
    visible([plan("3", "words", []), asked]).map((one) => one.kind),
    ["approval"],
  );
});

test("a call that told the plan is seen in the plan, unless it failed", () => {
  const plan = item("plan", { turn: "1", content: { steps: [{ text: "a", status: "pending" }] } });
  const call = (turn: string, status: string) =>
    item("tool", { turn, content: { call: { name: "update_plan", kind: "think" }, outcome: { status } } });
  const other = item("tool", { turn: "1", content: { call: { name: "shell", kind: "execute" } } });
  assert.deepEqual(visible([plan, call("1", "completed"), other, call("1", "completed")]), [plan, other]);
  assert.equal(visible([plan, call("1", "failed")]).length, 2);
  assert.equal(visible([call("2", "completed")]).length, 1, "without a plan the call is all there is");
  assert.equal(newestPlan([plan, other]), plan);
  assert.equal(newestPlan([plan, other], "2"), undefined);
});

test("what was decided stands on the call, and words that went with it on a line", () => {
  const call = item("tool", { id: "i", content: { call: { name: "x", kind: "execute" } } });
  const decided = (more: object) =>
    item("approval", {
      id: "i",
      content: {
        request: { approval: "a", options: [], subject: { kind: "command", command: "ls" } },
        decision: { decision: "allow_once", by: "Pixel 9", ...more },
      },
    });
  const plain = decided({});
  assert.deepEqual(
    visible([call, plain]).map((one) => one.kind),
    ["tool"],
  );
  assert.equal(decisionsByItem([call, plain]).get("i"), plain);
  assert.deepEqual(
    visible([call, decided({ message: "not so" })]).map((one) => one.kind),
    ["tool", "approval"],
  );
  assert.deepEqual(
    visible([plain]).map((one) => one.kind),
    ["approval"],
  );
  // The call that proposed a plan is not shown; who went ahead with it is.
  const proposed = item("tool", {
    id: "i",
    content: { call: { name: "ExitPlanMode", kind: "think" }, outcome: { status: "completed" } },
  });
  const goAhead = item("approval", {
    id: "i",
    content: {
      request: { approval: "a", options: [], subject: { kind: "plan", plan: "x" } },
      decision: { decision: "allow_once", by: "Pixel 9" },
    },
  });
  assert.deepEqual(
    visible([proposed, goAhead]).map((one) => one.kind),
    ["approval"],
  );
});

test("a lecture is heard once", () => {
  const lecture = () => item("notice", { text: "x".repeat(200), content: { level: "warning" } });
  const word = () => item("notice", { text: "resumed", content: { level: "info" } });
  assert.equal(visible([lecture(), word(), lecture(), word()]).length, 3);
});

test("commands are found by any part of their names", () => {
  const commands: SlashCommand[] = [{ name: "review" }, { name: "code:review" }, { name: "preview" }, { name: "help" }];
  assert.deepEqual(
    matchingCommands(commands, "rev").map((one) => one.name),
    ["review", "code:review", "preview"],
  );
  assert.equal(matchingCommands(commands, "").length, 4);
  assert.deepEqual(
    [typedCommand("/"), typedCommand("/Re"), typedCommand("/re view"), typedCommand("no")],
    ["", "re", undefined, undefined],
  );
});

test("colours of programs can be read on either ground and on their own backgrounds", () => {
  const [line] = ansiLines(
    "\x1b[38;5;208morange\x1b[0m\x1b[38;2;10;20;250mblue\x1b[0m\x1b[42mgreen\x1b[48;5;208;38;5;209mboth",
  );
  const grounds = { light: [0xf2, 0xf2, 0xee], dark: [0x12, 0x17, 0x1a] } as const;
  for (const run of (line ?? []).slice(0, 2)) {
    const [light, dark] = /^light-dark\((rgb\([^)]*\)), (rgb\([^)]*\))\)$/
      .exec(letters(run) ?? "")!
      .slice(1)
      .map((one) => rgbOf(one)!);
    assert.ok(contrast(light!, [...grounds.light]) >= 4.5 && contrast(dark!, [...grounds.dark]) >= 4.5, run.text);
  }
  assert.equal(letters(line![2]!), "light-dark(#ffffff, #101415)");
  assert.equal(letters(line![3]!), "#000000");
  assert.equal(letters({ fg: "var(--ansi-1)" }), "var(--ansi-1)");
});

test("no two agents look alike", () => {
  const titles = [
    "Codex",
    "Codex (headless)",
    "Claude Code",
    "Gemini CLI",
    "Goose CLI",
    "Copilot",
    "Built-in agent",
    "Cline",
    "Qwen Code",
    "OpenCode",
  ];
  const marks = [...marksOf(titles.map((title) => ({ name: title.toLowerCase(), title }))).values()];
  assert.equal(new Set(marks.map((mark) => mark.letters)).size, titles.length);
  assert.ok(
    marks.every((mark) => /^[\p{L}\p{N}]{1,2}$/u.test(mark.letters)),
    marks.map((mark) => mark.letters).join(),
  );
  assert.equal(new Set(marks.map((mark) => mark.hue)).size, titles.length);
});

test("names are the same before and after the agent has told its own", () => {
  const models: ModelInfo[] = [{ id: "gpt-5.5", title: "GPT-5.5" }];
  assert.deepEqual(
    [
      modelTitle("gpt-5.5", models),
      modelTitle("gpt-5.5", undefined),
      modelTitle("claude-opus-4-8[1m]", []),
      modelTitle(undefined, models),
    ],
    ["GPT-5.5", "GPT-5.5", "claude-opus-4-8", undefined],
  );
  assert.equal(
    sessionTitle({
      title: "",
      cwd: "/a/shop",
      queue: [{ prompt: "p", by: "owner", text: "mend it\nplease", turn: "t" }],
    }),
    "mend it",
  );
  assert.equal(exitWord({ status: "failed", exitCode: 3 }), "exit 3");
  assert.equal(exitWord({ status: "failed" }), "failed");
  assert.deepEqual(
    [withdrawn("the turn was interrupted"), withdrawn(null)],
    ["Withdrawn: the turn was interrupted", "Withdrawn"],
  );
});

test("efforts are those of the model, or of the one that is taken without asking", () => {
  const models: ModelInfo[] = [
    { id: "a", title: "A", efforts: ["low"] },
    { id: "b", title: "B", default: true, efforts: ["low", "high"] },
  ];
  assert.deepEqual(
    [effortsOf(models, "a"), effortsOf(models, undefined), effortsOf(undefined, "a")],
    [["low"], ["low", "high"], []],
  );
});

test("a snippet has neither colours nor marks", () => {
  const words = (snippet: string) =>
    marked(snippet)
      .map((part) => (part.hit ? `[${part.text}]` : part.text))
      .join("");
  assert.equal(words("…\u241b[32m1 \u2068passed\u2069\u241b[0m, **all** `well`"), "…1 [passed], all well");
  assert.equal(words("a | b |\n|---|---:|\n| \u20681\u2069"), "a | b [1]");
  assert.equal(words("\x1b[1mbold\x1b[0m \u2068hit\u2069"), "bold [hit]");
});

test("what has ended is in the archive, and what a restart cut is by itself", () => {
  const session = (id: string, more: object) =>
    ({
      sessionId: id,
      cwd: "/p",
      updatedAt: id,
      archived: false,
      activity: "idle",
      status: "idle",
      ...more,
    }) as unknown as Session;
  const all = [
    session("1", {}),
    session("2", { activity: "closed" }),
    session("3", { cutByRestart: true, status: "interrupted", activity: "sleeping" }),
  ];
  assert.deepEqual(
    listRows(all, "all", false).flatMap((row) => (row.kind === "session" ? row.key : [])),
    ["3", "1"],
  );
  assert.deepEqual(
    listRows(all, "all", true).flatMap((row) => (row.kind === "session" ? row.key : [])),
    ["2"],
  );
  assert.deepEqual(
    interrupted(all).map((one) => one.sessionId),
    ["3"],
  );
});

test("the first day and the last have their names", () => {
  assert.deepEqual([...tickDays(30, 4)], [0, 10, 19, 29]);
  assert.deepEqual([...tickDays(7, 0)], [0, 6]);
  assert.deepEqual([...tickDays(1, 5)], [0]);
});

test("a call runs from when it was allowed", () => {
  const call = item("tool", {
    id: "i",
    startedAt: "2026-01-01T00:00:00Z",
    content: { call: { name: "x", kind: "execute" } },
  }) as TimelineItem & { kind: "tool" };
  const decided = item("approval", {
    endedAt: "2026-01-01T00:05:00Z",
    content: {
      request: { approval: "a", options: [], subject: { kind: "command", command: "ls" } },
      decision: { decision: "allow_once", by: "x" },
    },
  }) as TimelineItem & { kind: "approval" };
  assert.equal(begunAt(call, undefined), "2026-01-01T00:00:00Z");
  assert.equal(begunAt(call, decided), "2026-01-01T00:05:00Z");
});

test("why an agent did not start is said once, by the turn that failed for it", () => {
  const why = "It wants a login first.";
  const notice = (level: string, text = why) => item("notice", { text, content: { level } });
  const prompt = item("user_message", { text: "hail" });
  const failed = item("turn_end", {
    content: { outcome: "failed", error: { code: "agent_unavailable", message: why } },
  });
  const kinds = (items: TimelineItem[]) => visible(items).map((one) => one.kind);
  assert.deepEqual(kinds([notice("error"), notice("info"), prompt, failed]), ["user_message", "turn_end"]);
  assert.deepEqual(kinds([notice("error"), notice("info")]), ["notice"], "where no turn says it, one notice does");
  assert.deepEqual(kinds([notice("error", "Something else."), prompt, failed]), ["notice", "user_message", "turn_end"]);
});

test("that the hub was restarted is said once, and nothing was interrupted where no turn ran", () => {
  const end = (code: string) =>
    item("turn_end", { content: { outcome: "interrupted", error: { code, message: "the hub was restarted" } } });
  const notice = () => item("notice", { text: "the hub was restarted", content: { level: "info" } });
  assert.deepEqual(
    visible([end("hub_restarted"), notice()]).map((one) => one.kind),
    ["turn_end"],
  );
  const held = item("notice", { text: "1 prompt is held", content: { level: "info" } });
  assert.deepEqual(
    visible([end("hub_restarted"), held, notice()]).map((one) => one.text),
    [undefined, "1 prompt is held"],
  );
  assert.deepEqual(
    visible([end("other"), notice()]).map((one) => one.kind),
    ["turn_end", "notice"],
  );
  assert.equal(noticeWord("the hub was restarted"), "The hub restarted. The agent resumes with the next prompt.");
  assert.deepEqual(
    turnError({ outcome: "interrupted", error: { code: "hub_restarted", message: "the hub was restarted" } }),
    { title: "Interrupted: the hub restarted", message: "" },
  );
});

test("what decides is heard once it has stood still, and scrolling by hand does not move it", () => {
  const at = (y: number, scrolled = 0, room = 500): Place => ({ x: 200, y, scrolled, room });
  const button = new Stillness(at(900), 0);
  assert.equal(button.lasts(at(900), MOMENT - 1), false, "just there");
  assert.equal(button.lasts(at(900), MOMENT), true);
  assert.equal(button.lasts(at(500, 400), MOMENT + 1), true, "scrolled to");
  assert.equal(button.lasts(at(200, 400), 2_000), false, "slid under the finger");
  assert.equal(button.lasts(at(200, 400), 2_000 + MOMENT), true);
  assert.equal(
    moved(at(200, 400, 400), at(350, 250, 250)),
    true,
    "the end of the list went away, and the rest slid down",
  );
  assert.equal(moved(at(200), { ...at(200), x: 20 }), true);
  assert.equal(moved(at(200), at(204)), false);
  // Small steps are a way, too.
  const slow = new Stillness(at(0), 0);
  for (let step = 1; step <= 9; step++) slow.lasts(at(step), MOMENT);
  assert.equal(slow.lasts(at(9), MOMENT + 1), false);
});
