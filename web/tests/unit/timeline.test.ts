// The fold: the vectors of the Rust fold, and what only a client does with it.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import type { Event, TimelineItem } from "../../src/lib/contract.ts";
import { screenful } from "../../src/lib/screenful.ts";
import { shown } from "../../src/lib/shown.ts";
import { Timeline } from "../../src/lib/timeline.ts";

const folder = "../crates/longshore-model/tests/vectors";
type Vector = { events: Event[]; timeline: { head: number; items: TimelineItem[] } };
const vectors = readdirSync(folder).map((name): [string, Vector] => [
  name,
  JSON.parse(readFileSync(`${folder}/${name}`, "utf8")),
]);

const told = (timeline: Timeline) => ({ head: timeline.head, items: timeline.items });

test("every vector folds to its timeline", () => {
  assert.ok(vectors.length >= 3);
  for (const [name, vector] of vectors) assert.deepEqual(told(Timeline.of(vector.events)), vector.timeline, name);
});

test("an event twice is an event once, and folding can stop and go on anywhere", () => {
  for (const [name, { events, timeline: whole }] of vectors) {
    for (let cut = 0; cut <= events.length; cut++) {
      const first = Timeline.of(events.slice(0, cut));
      const page = { items: structuredClone(first.items), head: first.head, next: null };
      const resumed = Timeline.from(page);
      for (const event of [...events.slice(0, cut), ...events.slice(cut)]) resumed.apply(event);
      assert.deepEqual(told(resumed), whole, `${name} cut at ${cut}`);
    }
  }
});

test("a timeline that begins anywhere and scrolls back is the whole timeline", () => {
  for (const [name, { events, timeline: whole }] of vectors) {
    for (let begun = 0; begun <= events.length; begun++) {
      const then = Timeline.of(events.slice(0, begun));
      for (let split = 0; split <= then.items.length; split++) {
        // The newest page as it was then, the older one as it is at some later moment.
        for (const asked of [begun, events.length]) {
          const newest = structuredClone(then.items.slice(split));
          const before = newest[0]?.seq ?? (split ? then.head + 1 : null);
          const live = Timeline.from({ items: newest, head: then.head, next: split ? before : null });
          for (const event of events.slice(begun)) live.apply(event);
          const at = Timeline.of(events.slice(0, asked));
          const older = structuredClone(at.items.filter((item) => before !== null && item.seq < before));
          if (live.prepend({ items: older, head: at.head, next: null })) live.mend(events.slice(asked));
          assert.deepEqual(told(live), whole, `${name} begun at ${begun}, split at ${split}, older asked at ${asked}`);
        }
      }
    }
  }
});

test("an older page that is ahead of the live events is not told twice", () => {
  for (const [name, { events, timeline: whole }] of vectors) {
    for (let begun = 1; begun <= events.length; begun++) {
      const then = Timeline.of(events.slice(0, begun));
      const live = Timeline.from({ items: [], head: then.head, next: then.head + 1 });
      live.prepend({
        items: structuredClone(Timeline.of(events).items.filter((item) => item.seq <= then.head)),
        head: events.length,
        next: null,
      });
      for (const event of events.slice(begun)) live.apply(event);
      assert.deepEqual(
        live.items.map(({ seq, text }) => [seq, text]),
        whole.items.map(({ seq, text }) => [seq, text]),
        `${name} at ${begun}`,
      );
    }
  }
});

test("what grows is replaced, what does not stays the same object", () => {
  const [, plain] = vectors.find(([name]) => name === "plain.json")!;
  const timeline = new Timeline();
  let before: TimelineItem[] = [];
  for (const event of plain.events) {
    timeline.apply(event);
    const changed = timeline.items.filter((item, at) => before[at] !== item).length;
    assert.ok(changed <= 1, `event ${event.seq} touched ${changed} items`);
    before = [...timeline.items];
  }
});

test("a screenful is enough items and not many more", () => {
  const item = (kind: string, text = ""): TimelineItem =>
    ({ kind, text, seq: 1, startedAt: "", content: kind === "plan" ? { steps: [] } : {} }) as unknown as TimelineItem;
  const tools = Array.from({ length: 60 }, () => item("tool"));
  assert.equal(screenful(tools, 640), 15);
  assert.equal(
    screenful([...tools, item("message", "a line of words\n".repeat(40))], 640),
    1,
    "one that is longer than the screen",
  );
  assert.equal(screenful(tools.slice(0, 3), 640), 3);
  assert.equal(screenful([], 640), 0);
});

test("a call that shows a plan or asks a question is seen in that, unless it failed", () => {
  const base = { startedAt: "2026-01-01T00:00:00Z", turn: "t" };
  const call = (kind: string, status?: string) =>
    ({
      ...base,
      seq: 1,
      kind: "tool",
      content: { call: { name: "update_plan", kind }, ...(status && { outcome: { status } }) },
    }) as unknown as TimelineItem;
  const plan = (turn: string) => ({ ...base, turn, seq: 2, kind: "plan", content: { steps: [] } }) as TimelineItem;
  assert.ok(!shown(call("think"), plan("t")) && !shown(call("think", "completed"), plan("t")));
  assert.ok(shown(call("think", "failed"), plan("t")), "a failure is news");
  assert.ok(
    shown(call("think", "completed"), plan("other")) && shown(call("think", "completed")),
    "nothing else says it",
  );
  assert.ok(shown(call("execute", "completed"), plan("t")), "other calls are cards of their own");
});
