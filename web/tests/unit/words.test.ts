// Every value that the hub can tell has words, and no word of the wire is on a screen.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Decision, Mode, OpenApproval, Session, Subject, ToolKind } from "../../src/lib/contract.ts";
import {
  approvalLine,
  approvalTitle,
  decidedWord,
  decisionWord,
  modeWord,
  shortDecision,
  standing,
} from "../../src/lib/describe.ts";
import { permissionWords } from "../../src/lib/permissions.ts";
import { toolWords } from "../../src/lib/tools.ts";
import { effortWord, TABLES, titled, toolName } from "../../src/lib/words.ts";

/** Types whose values are never shown: what they mean is told by a text of the hub, by a shape or by a place. */
const UNSEEN = new Set([
  "Category",
  "Event",
  "FaultCode",
  "FieldKind",
  "MessagePhase",
  "NoticeLevel",
  "RawFault",
  "SleepCause",
  "TimelineItem",
]);
/** Types whose values are told by a function. */
const TOLD: Record<string, (value: string) => string> = {
  ToolKind: (kind) => toolWords({ name: "x", kind: kind as ToolKind }, true).verb,
  Subject: (kind) =>
    approvalTitle({
      kind,
      changes: [],
      name: "some_tool",
      command: "",
      plan: "",
      permissions: {},
    } as unknown as Subject),
};
type Schema = { const?: string; enum?: string[]; oneOf?: Schema[]; properties?: Record<string, Schema> };

/** The values of a type of the contract; of one that is told apart by a tag, those of the tag. */
function valuesOf(schema: Schema): string[] {
  const own = [...(schema.enum ?? []), ...(schema.const === undefined ? [] : [schema.const])];
  const tags = Object.values(schema.properties ?? {}).flatMap((property) =>
    property.const === undefined ? [] : [property.const],
  );
  return [...own, ...tags, ...(schema.oneOf ?? []).flatMap(valuesOf)];
}

const { $defs } = JSON.parse(readFileSync("../crates/longshore-model/contract/longshore.schema.json", "utf8")) as {
  $defs: Record<string, Schema>;
};
const types = Object.entries($defs)
  .map(([name, schema]) => [name, valuesOf(schema)] as const)
  .filter(([, values]) => values.length > 1);
const isPlain = (words: string) => words.length > 0 && !/_|[a-z][A-Z]|undefined|null/.test(words);

test("every value of the contract has words", () => {
  assert.ok(types.length > 15, "the contract was read");
  for (const [name, values] of types) {
    if (UNSEEN.has(name)) continue;
    const told = TOLD[name];
    for (const value of values) {
      const words = told ? [told(value)] : texts(TABLES[name]?.[value]);
      assert.ok(words.length && words.every(isPlain), `${name}.${value} has no words, or words of the wire: ${words}`);
    }
  }
  for (const name of [...UNSEEN, ...Object.keys(TOLD), ...Object.keys(TABLES)])
    assert.ok(
      types.some(([known]) => known === name),
      `${name} is no type of the contract any more`,
    );
});

const texts = (entry: unknown): string[] =>
  typeof entry === "string" ? [entry] : typeof entry === "object" && entry ? Object.values(entry).flatMap(texts) : [];

test("however a session stands, and whatever is decided, it is said in words", () => {
  const valuesOfType = (name: string) => types.find(([one]) => one === name)?.[1] ?? [];
  for (const activity of valuesOfType("Activity"))
    for (const status of valuesOfType("Status"))
      for (const cutByRestart of [true, false]) {
        assert.ok(isPlain(standing({ activity, status, cutByRestart } as Session).word), `${activity} ${status}`);
      }
  const plan: Subject = { kind: "plan", plan: "# Words" };
  for (const decision of [...valuesOfType("Decision"), "allow_until_noon"] as Decision[]) {
    for (const words of [
      decisionWord(decision),
      decisionWord(decision, plan),
      decidedWord(decision),
      decidedWord(decision, plan),
      shortDecision(decision),
    ])
      assert.ok(isPlain(words), `${decision}: ${words}`);
  }
  assert.equal(modeWord("read_only" as Mode).word, "Read only");
});

test("names of agents, tools and efforts are written as people write them", () => {
  assert.deepEqual(["xhigh", "low", "very_deep"].map(effortWord), ["Extra high", "Low", "Very deep"]);
  assert.equal(titled("claude-acp"), "Claude acp");
  assert.deepEqual(["mcp__github__create_issue", "WebFetch", "browser_click", "Edit src/x_y.rs"].map(toolName), [
    "create issue of github",
    "web fetch",
    "browser click",
    "Edit src/x_y.rs",
  ]);
  assert.equal(
    approvalTitle({ kind: "tool", name: "mcp__github__create_issue", input: {} }),
    "Use create issue of github?",
  );
});

test("permissions are told in words, and what has none is shown as it came", () => {
  const asked: OpenApproval["subject"] = {
    kind: "permissions",
    permissions: {
      network: { enabled: true },
      fileSystem: {
        read: null,
        write: ["/tmp/extra"],
        entries: [{ path: { type: "path", path: "/tmp/extra" }, access: "write" }],
      },
    },
  };
  assert.equal(approvalLine(asked, "/p"), "use the network, write below /tmp/extra");
  assert.deepEqual(permissionWords({ network: { enabled: true, hosts: ["evil"] } }), {
    lines: [],
    rest: { network: { enabled: true, hosts: ["evil"] } },
  });
  assert.deepEqual(
    permissionWords({
      fileSystem: { entries: [{ path: { type: "glob", path: "/**" }, access: "write" }] },
      camera: true,
      network: { enabled: true },
    }),
    {
      lines: ["use the network"],
      rest: { fileSystem: { entries: [{ path: { type: "glob", path: "/**" }, access: "write" }] }, camera: true },
    },
  );
  assert.deepEqual(permissionWords("all"), { lines: [], rest: "all" });
});
