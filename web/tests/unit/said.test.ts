// The words of the app: what people in this field say, and none of what was said before.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

/** What stands on screens: the sources without what their authors say to each other. */
function words(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(svelte|ts)$/.test(name))
    .map((name) =>
      readFileSync(join(folder, name), "utf8").replace(/<!--[\s\S]*?-->|\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, " "),
    )
    .join("\n")
    .replace(/\s+/g, " ");
}

/** What is said, and what it is said instead of. */
const SAID: [say: string, insteadOf: RegExp][] = [
  ["This device isn't paired", /does not know you/],
  ["On the computer running the hub, run", /where the hub runs/],
  ["You can revoke it anytime", /token of its own/],
  ["waiting for you", /things? waits? for you/],
  ["You're all caught up", /Nothing waits for you/],
  ["You'll be notified when one needs you", /You will hear/],
  ["needs you", /waits for you/i],
  ["What should the agent do?", /First words|What is to be done/],
  [">Permissions<", /What it may do|What the agent may do/],
  ["never asks", /everything by itself/],
  ["asks before running commands or editing files", /before it acts/],
  [">Default<", /The agent's choice/],
  ["Message ${agent}…", /Say something/],
  ["(wakes it)…", /the agent wakes up/],
  ["Add to the queue…", /Say something more/],
  ["Allow for this session", /"For this session"/],
  ["Always allow", /"Always:/],
  ["Deny and send", /Deny with this/],
  ["Grant extra permissions?", /more than the mode gives/],
  ["has a question", /The agent asks/],
  ['"Other…"', /Something else/],
  ["queued", /prompts? waiting/],
  ['"Move up"', /="Earlier"/],
  ['aria-label="Save"', /"Keep"/],
  ['"Remove"', /Take back/],
  ["Reuse prompt", /Write it again/],
  ["Fork into a new session", /go on in a copy/],
  ["Resume from Longshore's log", /tell it what the log holds/],
  ["Copy resume command", /command that goes on/],
  ["Unarchive", /out of the archive|Taken out/],
  ["End session", /Close for good/],
  ["End it?", /Really close/],
  ["No sessions here", /None of these/],
  ["No sessions yet", /No session yet/],
  ["Interrupted: the hub restarted", /went with it/],
  ["The hub restarted. The agent resumes with the next prompt.", /"Stopped"|"Turn stopped"/],
  ["Needs you", /word: "Waiting"/],
  ["Withdrawn: ", /no longer asked/],
  ["Not sent: ", /was not taken/],
  ["Will be sent when you're back online", /is kept and sent/],
  ["Can't reach the hub", /No answer from the hub/],
  ['"Offline"', /Not connected/],
  [">Retry<", /Try now/],
  ["Rate limited by the model provider", /asks for patience/],
  ["Usage limit reached", /allowance/],
  ["Context window is full", /no longer fits/],
  ["This agent doesn't list its models.", /names no models/],
  ["Loading models…", /Asking the agent/],
  ["not installed`", /that are not installed/],
  ["Sub-agents can't be messaged.", /takes no prompts/],
  ["cached)", /from the cache/],
  ["Cut off here: the agent did not finish this.", /Interrupted here/],
  ["exit ${outcome.exitCode}", /failed \$\{/],
  ["This device: ", /You are \{/],
  [">Supports<", /It can</],
  ["One use, expires in", /Good once/],
  ["Test sent", /On its way/],
  ['"Latest"', /To the end/],
  ["Loading older…", /Older …|Adding up/],
];
const screens = words("src");

test("every screen says it as the field does", () => {
  assert.deepEqual(
    SAID.filter(([say]) => !screens.includes(say)).map(([say]) => say),
    [],
    "nothing says this",
  );
  assert.deepEqual(
    SAID.flatMap(([, insteadOf]) => insteadOf.exec(screens)?.[0] ?? []),
    [],
    "something still says this",
  );
});

test("no blank stands before an ellipsis that ends a sentence", () => {
  assert.deepEqual(
    [...screens.matchAll(/[^>`"]{0,30}\w …(?=[<"`])/g)].map(([words]) => words),
    [],
  );
});
