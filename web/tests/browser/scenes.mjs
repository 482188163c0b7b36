// What the model says on the stage, and sessions that are taken in whole: nice to look at, and nasty where it counts.
export const ANSWER = `The discount was **added** where it should be taken off. I changed one line in \`cart.py\`:

\`\`\`python
def total(prices, discount):
    # a discount lowers the total
    return max(0, sum(prices) - discount)
\`\`\`

What I checked:

- a discount larger than the sum comes to \`0\`
- no discount leaves the sum as it is
- the old tests still pass

| case | before | now |
|---|---:|---:|
| 10 + 20, 5 off | 35 | **25** |
| 5, 8 off | 13 | **0** |

> Rounding is untouched; see [the issue](https://example.org/issues/12) if that matters.`;

const lines = (...all) => all.join("\n");

const patch = lines(
  "*** Begin Patch",
  "*** Update File: cart.py",
  "@@",
  " def total(prices, discount):",
  "-    return sum(prices) + discount",
  "+    # a discount lowers the total",
  "+    return max(0, sum(prices) - discount)",
  "*** End Patch",
);
const plan = (done) => ({
  call: "update_plan",
  args: {
    plan: ["Find the fault", "Change the sum", "Run the tests"].map((step, at) => ({
      step,
      status: at < done ? "completed" : at === done ? "in_progress" : "pending",
    })),
  },
});
const usage = (input, output) => ({
  input,
  cached: Math.round(input * 0.7),
  output,
  reasoning: Math.round(output / 3),
});

const words = (count) =>
  Array.from({ length: count }, (_, at) => `Word ${at}${at % 12 === 11 ? ".\n\n" : ""}`).join(" ");

/** What must never run, wherever an agent writes it. */
export const NASTY = [
  '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>',
  "[a](javascript:window.pwned=1) ![b](javascript:window.pwned=1)",
  '<svg onload="window.pwned=1"> [c](data:text/html,<script>window.pwned=1</script>)',
  '<a href="javascript:window.pwned=1">d</a>',
  "`<img src=x onerror=window.pwned=1>` &lt;img src=x onerror=window.pwned=1&gt;",
].join(" ");
/** A file may be called so. */
export const NASTY_NAME = "<img src=x onerror=window.pwned=1>.html";

/** What a command is stuffed with, so that its end is not seen. */
export const STUFFING = {
  lines: "\n".repeat(80),
  letters: `echo ${"a".repeat(8_000)};`,
  fillers: `echo ${"\u3164".repeat(400)};`,
  blanks: `echo ${"\u00a0".repeat(3_000)};`,
};
/** Where such a command ends. */
export const STUFFED_END = "rm -rf ../elsewhere";

/** A command with its danger where a row is cut. */
export const BURIED = `echo ${"a".repeat(4_500)}; ${STUFFED_END}; echo ${"b".repeat(4_500)}`;
/** Lines of a file that no row has whole. */
export const LONG_FILE = Array.from({ length: 300 }, (_, at) => `line ${at + 1} of the long file`);

/** Agents name their tools differently: how each runs a command, changes a file and asks. */
const AGENTS = {
  codex: {
    run: (cmd) => [{ call: "exec_command", args: { cmd, yield_time_ms: 30_000 } }],
    ask: (question, options) => ({
      call: "request_user_input",
      args: { questions: [{ id: "one", header: "Colour", question, options }] },
    }),
    // Each step answers one request of the agent.
    edit: (path, from, to) => [
      [
        {
          custom: "apply_patch",
          input: `*** Begin Patch\n*** Update File: ${path}\n@@\n-${from}\n+${to}\n*** End Patch`,
        },
      ],
    ],
  },
  claude: {
    run: (command) => [{ call: "Bash", args: { command, description: "Does it", timeout: 300_000 } }],
    ask: (question, options) => ({
      call: "AskUserQuestion",
      args: { questions: [{ header: "Colour", question, options, multiSelect: false }] },
    }),
    // It changes only what it has read.
    edit: (path, from, to) => [
      [{ call: "Read", args: { file_path: path } }],
      [{ call: "Edit", args: { file_path: path, old_string: from, new_string: to } }],
    ],
  },
};
export const PRICE = ["    return price + tax", "    return price * (1 + tax)"];
const COLOURS = [
  { label: "Teal", description: "as the rest of the page" },
  { label: "Orange", description: "stands out more" },
];

/** What both agents are asked to do; every session has words of its own, so that none takes another's steps. */
function both(shop) {
  return Object.entries(AGENTS).flatMap(([agent, does]) => [
    ...["phone", "desktop"].flatMap((where) => {
      const when = { contains: `mend the price, ${agent} on a ${where}` };
      return [
        ...does.edit(`${shop}/price-${agent}-${where}.py`, ...PRICE).map((actions) => ({ when, do: actions })),
        { when, do: [{ say: "The price is **mended**." }] },
      ];
    }),
    // Runs until a file is there, so that whoever tests decides how long; it ends by itself all the same.
    {
      when: { contains: `hold, ${agent}` },
      do: does.run(`for i in $(seq 2500); do [ -e gate-${agent} ] && break; sleep 0.1; done; echo the gate is open`),
    },
    { when: { contains: `hold, ${agent}` }, do: [{ say: "Held, and turned." }] },
    { when: { contains: `sweep, ${agent}` }, do: does.run("rm -rf build") },
    { when: { contains: `sweep, ${agent}` }, do: [{ say: "I leave it as it is." }] },
    { when: { contains: `which colour, ${agent}` }, do: [does.ask("Which colour should the button have?", COLOURS)] },
    { when: { contains: `which colour, ${agent}` }, do: [{ say: "So be it." }] },
  ]);
}

/** The script of the stage. */
export const steps = (shop) => [
  // Names for sessions and other small things that agents ask on their own account.
  { when: { tools: false }, do: [{ say: "A title" }], repeat: "forever" },
  ...both(shop),
  {
    when: { contains: "plan and hold" },
    do: [plan(1), ...AGENTS.codex.run("for i in $(seq 2500); do [ -e gate-plan ] && break; sleep 0.1; done")],
  },
  { when: { contains: "plan and hold" }, do: [{ say: "Held, as planned." }] },
  { when: { contains: "propose and go" }, do: [{ call: "ExitPlanMode", args: { plan: "# The plan\n\n1. Go" } }] },
  { when: { contains: "propose and go" }, do: [{ say: "Gone." }] },
  {
    when: { contains: "print and hold" },
    do: [
      {
        call: "shell",
        args: { command: "seq 7; for i in $(seq 600); do [ -e gate-print ] && break; sleep 0.1; done" },
      },
    ],
  },
  { when: { contains: "print and hold" }, do: [{ say: "Printed." }] },
  {
    when: { contains: "ask twice" },
    do: [
      {
        call: "request_user_input",
        args: {
          questions: ["Which colour has the roof?", "Which colour has the door?"].map((question, at) => ({
            id: `part-${at}`,
            header: `Part ${at}`,
            question,
            options: COLOURS,
          })),
        },
      },
    ],
    repeat: "forever",
  },
  {
    when: { contains: "be told to wait" },
    http: 429,
    headers: { "retry-after": "300" },
    body: { error: { message: "too many requests", type: "rate_limit_error" } },
    repeat: "forever",
  },
  {
    when: { contains: "talk and hold" },
    do: [
      { say: "I look around first." },
      ...AGENTS.claude.run("for i in $(seq 2500); do [ -e gate-talk ] && break; sleep 0.1; done"),
    ],
  },
  { when: { contains: "talk and hold" }, do: [{ say: "Nothing was found." }] },
  {
    when: { contains: "plan it, claude" },
    do: [{ call: "ExitPlanMode", args: { plan: "# The plan\n\n1. Look at the cart\n2. Mend the sum" } }],
    repeat: "forever",
  },
  {
    when: { contains: "fix the total" },
    do: [
      { reason: "**Looking for the fault**\n\nThe discount is a positive number, and it is added." },
      { say: "I will look at how the total is made.", phase: "commentary" },
      plan(0),
      {
        call: "exec_command",
        args: { cmd: "cat cart.py && printf '\\033[32m1 passed\\033[0m, \\033[31m2 failed\\033[0m\\n'" },
      },
    ],
    usage: usage(8_100, 150),
  },
  {
    when: { contains: "fix the total" },
    do: [plan(1), { custom: "apply_patch", input: patch }],
    usage: usage(9_200, 220),
  },
  { when: { contains: "fix the total" }, do: [plan(3)] },
  { when: { contains: "fix the total" }, do: [{ say: ANSWER, phase: "final_answer" }], usage: usage(9_800, 310) },
  {
    when: { contains: "release" },
    do: [
      { say: "Everything is committed. I would push the branch now.", phase: "commentary" },
      {
        call: "exec_command",
        args: {
          cmd: "git push --force origin release-2.4 && rm -rf ../old-builds",
          sandbox_permissions: "require_escalated",
          justification: "The release branch has to be on the server before the build starts.",
        },
      },
    ],
    repeat: "forever",
  },
  {
    when: { contains: "rename" },
    do: [
      {
        custom: "apply_patch",
        input: lines(
          "*** Begin Patch",
          "*** Update File: cart.py",
          "@@",
          "-def total(prices, discount):",
          "+def grand_total(prices, discount=0):",
          "*** End Patch",
        ),
      },
    ],
    repeat: "forever",
  },
  {
    when: { contains: "write a note" },
    do: [
      {
        custom: "apply_patch",
        input: "*** Begin Patch\n*** Add File: note.md\n+# A note\n+From the script.\n*** End Patch",
      },
    ],
    repeat: "forever",
  },
  {
    when: { contains: "colour" },
    do: [AGENTS.codex.ask("Which colour should the button have?", COLOURS)],
    repeat: "forever",
  },
  ...Object.entries(STUFFING).map(([what, stuffing]) => ({
    when: { contains: `be long with ${what}` },
    do: [
      {
        call: "exec_command",
        args: {
          cmd: `echo begin;${stuffing}${STUFFED_END}`,
          sandbox_permissions: "require_escalated",
          justification: "Because.",
        },
      },
    ],
    repeat: "forever",
  })),
  {
    when: { contains: "bury a danger" },
    do: [
      {
        call: "exec_command",
        args: { cmd: BURIED, sandbox_permissions: "require_escalated", justification: "Because." },
      },
    ],
    repeat: "forever",
  },
  {
    when: { contains: "write the long file" },
    do: [
      {
        custom: "apply_patch",
        input: `*** Begin Patch\n*** Add File: long.md\n${LONG_FILE.map((line) => `+${line}\n`).join("")}*** End Patch`,
      },
    ],
    repeat: "forever",
  },
  {
    when: { contains: "be nasty with a command" },
    do: [
      { say: NASTY },
      {
        call: "exec_command",
        args: { cmd: `echo '${NASTY}'`, sandbox_permissions: "require_escalated", justification: NASTY },
      },
    ],
    repeat: "forever",
  },
  {
    when: { contains: "be nasty with a file" },
    do: [{ custom: "apply_patch", input: `*** Begin Patch\n*** Add File: ${NASTY_NAME}\n+${NASTY}\n*** End Patch` }],
    repeat: "forever",
  },
  {
    when: { contains: "be nasty with a question" },
    do: [
      AGENTS.codex.ask(NASTY, [
        { label: NASTY, description: NASTY },
        { label: `${NASTY} too`, description: NASTY },
      ]),
    ],
    repeat: "forever",
  },
  { when: { contains: "at length" }, do: [{ say: words(120), delay_ms: 35 }], repeat: "forever" },
  // Nobody waits for its end.
  { when: { contains: "endlessly" }, do: [{ say: words(9_000), delay_ms: 60 }], repeat: "forever" },
  { when: { contains: "hail" }, do: [{ say: "Hail to you." }], repeat: "forever" },
  { do: [{ say: "I have nothing to add." }], repeat: "forever" },
];

let made = 0;
const run = Math.floor(Math.random() * 0xffff)
  .toString(16)
  .padStart(4, "0");
/** No two alike, neither here nor in another run on the same hub. */
const id = () => `01a1e086-${run}-7000-8000-${(++made).toString(16).padStart(12, "0")}`;
const CAPABILITIES = {
  approvals: true,
  attachments: true,
  custom: {},
  filtering: true,
  fork: true,
  interrupt: true,
  listSessions: true,
  models: true,
  modes: ["plan", "ask", "auto-edit", "full"],
  multiTurn: true,
  openSession: true,
  pagination: true,
  sendPrompt: true,
  steer: true,
  streaming: true,
};

/** Writes a log, event by event. */
export class Script {
  constructor(agent, cwd, title, begin = Date.now() - 3_600_000) {
    this.session = id();
    this.agent = agent;
    this.at = begin;
    this.events = [];
    this.add("session_opened", "lifecycle_status", {
      payload: { agent, cwd, capabilities: CAPABILITIES, mode: "ask", title },
    });
    this.add("session_ready", "lifecycle_status", { payload: { native: `native-${this.session}`, model: "gpt-5.5" } });
  }
  add(type, category, more = {}) {
    this.at += 40;
    this.events.push({
      seq: this.events.length + 1,
      eventId: id(),
      sessionId: this.session,
      provider: this.agent,
      category,
      timestamp: new Date(this.at).toISOString().replace("Z", "000Z"),
      type,
      ...more,
    });
  }
  turn(prompt) {
    const [turn, asked] = [id(), id()];
    this.add("prompt_queued", "metadata", { text: prompt, payload: { prompt: asked, by: "owner", turnId: turn } });
    this.add("turn_started", "lifecycle_status", { turn, payload: { prompt: asked } });
    this.add("user_message", "user_message", {
      turn,
      item: id(),
      text: prompt,
      payload: { prompt: asked, by: "owner" },
    });
    return turn;
  }
  say(turn, text, pieces = 0) {
    const item = id();
    for (let at = 0; at < pieces; at++)
      this.add("message_delta", "agent_message", {
        turn,
        item,
        text: text.slice(Math.floor((at * text.length) / pieces), Math.floor(((at + 1) * text.length) / pieces)),
      });
    this.add("message_done", "agent_message", { turn, item, text, payload: {} });
  }
  think(turn, text) {
    this.add("reasoning_done", "reasoning", { turn, item: id(), text, payload: {} });
  }
  run(turn, command, output, exitCode = 0) {
    const item = id();
    this.add("tool_started", "tool_command", {
      turn,
      item,
      text: command,
      payload: { name: "exec_command", kind: "execute", command },
    });
    this.at += 1_400;
    this.add("tool_finished", "tool_command", {
      turn,
      item,
      text: output,
      payload: { status: exitCode ? "failed" : "completed", exitCode },
    });
    return item;
  }
  /** What somebody decided about a call. */
  decide(turn, item, subject, by, decision = "allow_once") {
    const approval = id();
    this.add("approval_requested", "approval_request", {
      turn,
      item,
      payload: { approval, options: ["allow_once", "deny"], subject },
    });
    this.add("approval_decided", "approval_request", { turn, item, payload: { approval, decision, by } });
  }
  edit(turn, path, diff) {
    const item = id();
    this.add("file_diff", "file_diff", {
      turn,
      item,
      payload: { status: "completed", changes: [{ path, kind: "update", diff }] },
    });
    return item;
  }
  end(turn, figures = {}) {
    this.add("turn_finished", "lifecycle_status", {
      turn,
      payload: {
        outcome: "completed",
        durationMs: 14_200,
        usage: { input: 12_400, output: 640, cachedInput: 9_000 },
        ...figures,
      },
    });
  }
}

/** A session in which every text that an agent controls is nasty. */
export function nasty(cwd) {
  // As new as a file may be: it has to be on the first screen of the list.
  const log = new Script("codex", `${cwd}/${NASTY_NAME}`, NASTY, Date.now() + 60_000);
  log.add("title_changed", "metadata", { text: NASTY });
  log.add("model_changed", "metadata", { payload: { model: NASTY } });
  log.add("git_changed", "metadata", { payload: { branch: NASTY_NAME, dirty: 0 } });
  log.add("commands_listed", "metadata", { payload: { commands: [{ name: NASTY_NAME, description: NASTY }] } });
  const turn = log.turn(NASTY);
  log.think(turn, NASTY);
  log.say(turn, NASTY, 9);
  log.run(turn, `echo '${NASTY}'`, `\x1b[31m${NASTY}\x1b[0m\x1b]0;${NASTY}\x07`);
  const call = id();
  log.add("tool_started", "tool_command", {
    turn,
    item: call,
    text: NASTY,
    payload: { name: NASTY_NAME, kind: "other", input: { path: NASTY, [NASTY]: NASTY } },
  });
  log.add("tool_finished", "tool_command", { turn, item: call, text: NASTY, payload: { status: "failed" } });
  log.edit(turn, NASTY_NAME, `@@ -1 +1 @@ ${NASTY}\n-${NASTY}\n+${NASTY}${NASTY}`);
  log.add("plan_updated", "plan", {
    turn,
    item: id(),
    text: NASTY,
    payload: { steps: [{ text: NASTY, status: "pending" }] },
  });
  log.add("delegation_started", "tool_command", {
    turn,
    item: id(),
    text: NASTY,
    payload: { agent: NASTY_NAME, child: id() },
  });
  const [approval, question] = [id(), id()];
  log.add("approval_requested", "approval_request", {
    turn,
    text: NASTY,
    payload: {
      approval,
      options: ["allow_once", "deny"],
      subject: { kind: "tool", name: NASTY, input: { path: NASTY } },
    },
  });
  log.add("approval_decided", "approval_request", {
    turn,
    payload: { approval, decision: "deny", by: NASTY, message: NASTY },
  });
  log.add("question_asked", "user_input_request", {
    turn,
    text: NASTY,
    payload: { question, source: NASTY, fields: [{ id: "one", kind: "text", label: NASTY, text: NASTY }] },
  });
  log.add("question_answered", "user_input_request", {
    turn,
    payload: { question, by: NASTY, action: "accept", answers: { one: NASTY } },
  });
  log.add("notice", "lifecycle_status", { text: NASTY, payload: { level: "error" } });
  log.end(turn, { outcome: "failed", error: { code: "other", message: NASTY } });
  return log.events;
}

/** A session of many events, most of them in its far past. */
export function long(cwd, events) {
  const log = new Script("codex", cwd, `A session of ${events} events`);
  for (let round = 1; log.events.length < events; round++) {
    const turn = log.turn(`Round ${round}: go on`);
    log.think(turn, `**Round ${round}**\n\nWhat is left to do?`);
    log.run(
      turn,
      `make round-${round}`,
      Array.from({ length: 12 }, (_, at) => `line ${at} of round ${round}`).join("\n"),
    );
    log.say(
      turn,
      `Round ${round} is done.\n\n- it went well\n- \`make\` said so\n\n\`\`\`sh\nmake round-${round + 1}\n\`\`\``,
      24,
    );
    log.end(turn);
  }
  return log.events;
}

const searchDiff = (last) =>
  lines(
    "@@ -12,3 +12,4 @@",
    " pub fn search(query: &str) {",
    "-    let all = load();",
    "+    let found = index().find(query);",
    `+    ${last}`,
    " }",
  );

/** Colours as programs choose them; also at the end of an output, which is what a card shows. */
const COLOURED = "\x1b[42m\x1b[30m PASS \x1b[0m \x1b[38;5;208morange\x1b[0m";

/**
 * A session of the kind that is read on a phone: two directions, colours, a long
 * output, a diff, a notice that comes again.
 */
export function varied(cwd) {
  const log = new Script("codex", cwd, "A varied session", Date.now());
  const notice =
    "Codex could not find bubblewrap on PATH. " +
    "Install bubblewrap with your package manager to run commands in a sandbox.";
  log.add("notice", "lifecycle_status", { text: notice, payload: { level: "warning" } });
  const first = log.turn("tell me a story");
  log.say(first, "مرحبا بالعالم. هذا نص.\n\n- بند أول\n- بند ثان");
  log.run(
    first,
    "make test",
    `${COLOURED}\n${Array.from({ length: 80 }, (_, at) => `line ${at} ${"x".repeat(120)}`).join("\n")} ${COLOURED}`,
    3,
  );
  log.edit(first, "src/search.rs", searchDiff("// a comment"));
  log.say(first, "The **answer** of the first turn.");
  log.end(first);
  log.add("notice", "lifecycle_status", { text: notice, payload: { level: "warning" } });
  const second = log.turn("go on");
  for (const at of [1, 2, 3])
    log.add("notice", "lifecycle_status", {
      turn: second,
      text: `The model's service answered 429: retry ${at} of 10 in 36.0 s.`,
      payload: { level: "warning" },
    });
  for (const done of [1, 2])
    log.add("plan_updated", "plan", {
      turn: second,
      item: id(),
      payload: { steps: ["Look", "Mend"].map((text, at) => ({ text, status: at < done ? "completed" : "pending" })) },
    });
  log.say(second, "The answer of the second turn.");
  log.end(second);
  return log.events;
}

/** Words that are written from right to left. */
export const ARABIC = "مرحبا بالعالم. هذا نص.";

/**
 * A session from right to left, in which another device allowed what was done, and with words on the way to the answer.
 */
export function allowed(cwd) {
  const log = new Script("claude", cwd, ARABIC, Date.now());
  const turn = log.turn(ARABIC);
  log.think(turn, ARABIC);
  log.say(turn, `I look at the cart first.\n\n> ${ARABIC}\n\n- ${ARABIC}\n\n- ${ARABIC}`);
  const call = log.run(turn, "make cart", "made");
  log.decide(turn, call, { kind: "command", command: "make cart" }, "Pixel 9");
  const edit = log.edit(turn, "cart.py", "@@ -1 +1 @@\n-a\n+b");
  log.decide(turn, edit, { kind: "edit", changes: [] }, "Pixel 9");
  log.say(turn, "The cart is made.");
  log.end(turn);
  return log.events;
}

/** Two by two, all red. */
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4r6AARAwQCgAmbgT90I7UiAAAAABJRU5ErkJggg==";

/** A session whose tool answered with a picture. */
export function pictured(cwd) {
  const log = new Script("claude", cwd, "A session with a picture", Date.now());
  const turn = log.turn("look at the dot");
  const item = id();
  log.add("tool_started", "tool_command", {
    turn,
    item,
    payload: { name: "Read", kind: "read", input: { file_path: `${cwd}/dot.png` } },
  });
  log.add("tool_finished", "tool_command", {
    turn,
    item,
    payload: { status: "completed", attachments: [{ name: "dot.png", mediaType: "image/png", data: DOT }] },
  });
  log.say(turn, "It is red.");
  log.end(turn);
  return log.events;
}

/** Sessions that look like a week of work. */
export function week(work) {
  const hour = 3_600_000;
  const told = [
    [
      "claude",
      `${work}/shop`,
      "Speed up the product search",
      2,
      "The query now uses the index: 840 ms became 12 ms on the sample data. I kept the old one behind a flag.",
    ],
    [
      "codex",
      `${work}/api`,
      "Move the sessions table to its own schema",
      5,
      "The migration runs both ways on a copy of the data.",
    ],
    [
      "opencode",
      `${work}/api`,
      "Why does the login test fail on Mondays?",
      26,
      "It compares with the first day of the week, which depends on the locale. I pinned it.",
    ],
    [
      "gemini",
      `${work}/notes`,
      "Draft the release notes",
      50,
      "Here is a draft in three parts: what is new, what changed, what to do when upgrading.",
    ],
    [
      "claude",
      `${work}/notes`,
      "Translate the manual",
      120,
      "Chapter one is translated; the figures still have English words in them.",
    ],
  ];
  return told.map(([agent, cwd, title, ago, answer], at) => {
    const log = new Script(agent, cwd, title, Date.now() - ago * hour);
    const turn = log.turn(title);
    log.think(turn, "**Looking around**\n\nFirst what is there, then what is missing.");
    log.run(turn, "rg -n 'search' src", "src/search.rs:12: pub fn search(query: &str) {\nsrc/search.rs:40: // slow");
    log.edit(turn, "src/search.rs", searchDiff("debug!(found.len());"));
    log.say(turn, answer);
    log.end(turn, at % 2 ? {} : { costUsd: 0.12 * (at + 1) });
    return log.events;
  });
}
