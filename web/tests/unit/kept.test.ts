// What a page keeps: drafts, what was last seen, what a device is called, the way back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { begun, emptyEntry, withoutSecrets } from "../../src/lib/answers.ts";
import type { Field, Session, TimelineItem } from "../../src/lib/contract.ts";
import { deviceName, isLoopback, pairLinks } from "../../src/lib/device.ts";
import { Drafts, MOST_DRAFTS, type Disk } from "../../src/lib/drafts.ts";
import { giveBack } from "../../src/lib/giveback.ts";
import { content } from "../../src/lib/attach.ts";
import { MOST_PAGES, newestPage, newestRows, oldestPages } from "../../src/lib/memory.ts";
import { reordered } from "../../src/lib/queue.ts";

function disk(most = Infinity): Disk & { kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => {
      if (value.length > most) throw new Error("full");
      kept.set(name, value);
    },
    removeItem: (name) => void kept.delete(name),
    key: (at) => [...kept.keys()][at] ?? null,
    get length() {
      return kept.size;
    },
  };
}

test("a draft outlasts the page that it was written on", () => {
  const place = disk();
  new Drafts(() => place).keep("prompt.1", "half a word");
  assert.equal(new Drafts(() => place).of("prompt.1"), "half a word");
  new Drafts(() => place).keep("prompt.1", "");
  assert.equal(new Drafts(() => place).of("prompt.1"), undefined);
});

test("what must not be written down is not on the disk", () => {
  const place = disk();
  const drafts = new Drafts(() => place);
  drafts.keepInMemory("secrets.q", { token: "hush" });
  assert.deepEqual(drafts.of("secrets.q"), { token: "hush" });
  assert.equal(place.kept.size, 0);
  assert.ok(drafts.unwritten);
  assert.equal(new Drafts(() => place).of("secrets.q"), undefined);
});

test("what is taken back is a draft again, below what was begun meanwhile", () => {
  const place = disk();
  const drafts = new Drafts(() => place);
  const command = { key: "k", at: 1, says: "", state: "waiting" as const };
  const file = { name: "a.txt", mediaType: "text/plain", data: "YQ==" };
  drafts.keep("prompt.s", "begun");
  giveBack(drafts, {
    ...command,
    session: "s",
    method: "prompt",
    params: { content: content("sent", [file]), when: "queue" },
  });
  assert.deepEqual([drafts.of("prompt.s"), drafts.of("files.s")], ["begun\n\nsent", [file]]);
  const form = { agent: "codex", cwd: "/p", mode: "full" as const, model: "m", effort: "high" };
  giveBack(drafts, { ...command, session: "", method: "open", params: { ...form, prompt: content("", [file]) } });
  assert.deepEqual([drafts.of("opening"), drafts.of("opening.files")], [{ ...form, prompt: "" }, [file]]);
});

test("a disk that is full or not there costs no draft as long as the page is open", () => {
  const full = disk(10);
  for (const drafts of [new Drafts(() => full), new Drafts(() => undefined)]) {
    drafts.keep("a", "more than ten letters");
    assert.equal(drafts.of("a"), "more than ten letters");
  }
});

test("the oldest drafts go first, and all of them with the device", () => {
  const place = disk();
  place.kept.set("something.else", "1");
  const drafts = new Drafts(() => place);
  for (let at = 0; at < MOST_DRAFTS + 3; at++) drafts.keep(`prompt.${at}`, "x", at);
  assert.deepEqual([drafts.of("prompt.2"), drafts.of("prompt.3")], [undefined, "x"]);
  drafts.forgetAll();
  assert.deepEqual([...place.kept.keys()], ["something.else"]);
});

test("of a form the secrets are kept apart, and it is filled in as it was left", () => {
  const field = (id: string, more: Partial<Field> = {}): Field => ({ id, kind: "text", label: id, text: "", ...more });
  const fields = [field("name"), field("token", { secret: true }), field("empty")];
  const entries = {
    name: { ...emptyEntry(), text: "Ada" },
    token: { ...emptyEntry(), text: "hush" },
    empty: emptyEntry(),
  };
  const [open, secret] = withoutSecrets(fields, entries);
  assert.deepEqual([Object.keys(open ?? {}), Object.keys(secret ?? {})], [["name"], ["token"]]);
  assert.ok(!JSON.stringify(open).includes("hush"));
  assert.deepEqual(begun(fields, { ...open, ...secret }), entries);
  assert.deepEqual(withoutSecrets(fields, {}), [undefined, undefined]);
});

test("a kept page goes on where the timeline does", () => {
  const item = (seq: number, text = ""): TimelineItem => ({ kind: "message", seq, startedAt: "", text, content: {} });
  const items = Array.from({ length: 100 }, (_, at) => item(at * 2 + 1));
  const page = newestPage(items, 250, null);
  assert.deepEqual([page.items.length, page.items[0]?.seq, page.next, page.head], [60, 81, 81, 250]);
  assert.deepEqual(newestPage(items.slice(0, 3), 9, null), { items: items.slice(0, 3), head: 9, next: null });
  assert.equal(newestPage(items.slice(0, 3), 9, 1).next, 1);
  const large = Array.from({ length: 10 }, (_, at) => item(at + 1, "x".repeat(500_000)));
  assert.ok(JSON.stringify(newestPage(large, 10, null)).length < 2_100_000);
});

test("the pages of the sessions that were looked at last are kept", () => {
  const pages = Array.from({ length: MOST_PAGES + 2 }, (_, at) => ({ session: String(at), at }));
  assert.deepEqual(oldestPages(pages), ["1", "0"]);
  const rows = Array.from(
    { length: 230 },
    (_, at) => ({ sessionId: String(at), archived: at === 229, updatedAt: String(at).padStart(4, "0") }) as Session,
  );
  assert.deepEqual([newestRows(rows).length, newestRows(rows)[0]?.sessionId], [200, "228"]);
});

test("a device is called what it is", () => {
  const agents: [string, string][] = [
    [
      "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) " +
        "Chrome/140.0.0.0 Mobile Safari/537.36",
      "Pixel 9",
    ],
    [
      "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
      "Android phone",
    ],
    [
      "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
      "Android tablet",
    ],
    [
      "Mozilla/5.0 (Linux; Android 14; SM-S911B Build/UP1A.231005.007) AppleWebKit/537.36 Mobile Safari/537.36",
      "SM-S911B",
    ],
    ["Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0", "Android phone"],
    ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36", "Linux PC"],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 " +
        "Version/18.0 Mobile/15E148 Safari/604.1",
      "iPhone",
    ],
    ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15", "Mac"],
    ["Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36", "Chromebook"],
    ["Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36", "Windows PC"],
  ];
  for (const [agent, name] of agents) assert.equal(deviceName(agent), name, agent);
  assert.equal(deviceName(agents[1]![0], 5, "Pixel 9 Pro"), "Pixel 9 Pro");
  assert.equal(deviceName(agents[7]![0], 5), "iPad");
});

test("an address that leads back to the phone itself is known", () => {
  for (const near of ["http://127.0.0.1:8790/pair#X", "http://localhost:1", "http://[::1]:8790/", "http://127.0.1.1/"])
    assert.ok(isLoopback(near), near);
  for (const far of ["http://192.168.1.4:8790/", "https://hub.example/", "nonsense"]) assert.ok(!isLoopback(far), far);
});

test("a prompt is put at another place of the queue", () => {
  assert.deepEqual(reordered(["a", "b", "c"], "c", 0), ["c", "a", "b"]);
  assert.deepEqual(reordered(["a", "b", "c"], "a", 2), ["b", "c", "a"]);
  assert.deepEqual(reordered(["a", "b", "c"], "b", -1), ["b", "a", "c"]);
});

test("a code leads to every address of the hub, the page's own first", () => {
  const pair = {
    pairUrl: "https://192.168.1.5:8790/pair?ca=ff#K7QMX2RDLONG",
    addresses: ["https://192.168.1.5:8790", "https://100.64.0.7:8790"],
  };
  assert.deepEqual(pairLinks(pair, "http://x"), [
    { link: pair.pairUrl, host: "192.168.1.5:8790" },
    {
      address: "https://100.64.0.7:8790",
      link: "https://100.64.0.7:8790/pair?ca=ff#K7QMX2RDLONG",
      host: "100.64.0.7:8790",
    },
  ]);
  assert.deepEqual(pairLinks({ ...pair, addresses: undefined }, "http://x").length, 1);
});
