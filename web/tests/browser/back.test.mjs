// Whoever comes back finds a screen as it was left, also in the middle of what was
// read, and stays there while more comes.
import assert from "node:assert/strict";
import { DESKTOP, PHONE, quiet, until } from "./browser.mjs";
import { scene } from "./given.mjs";
import { long, Script, varied, week } from "./scenes.mjs";

const scrolled = (scroller) => scroller.evaluate((one) => one.scrollTop);

/** Scrolls as a person does, and says how far. */
async function scrollTo(page, scroller, to) {
  await until(`something to scroll to ${to}`, () =>
    scroller.evaluate((one, to) => one.scrollHeight > one.clientHeight + to, to),
  );
  await scroller.evaluate((one, to) => one.scrollTo(0, to), to);
  await quiet(page);
  return scrolled(scroller);
}

/** Goes away by a link within the app, and back. */
async function awayAndBack(page, away) {
  await away();
  await page.getByRole("button", { name: "Back", exact: true }).waitFor();
  await page.goBack();
}

/** Asks for few sessions at a time; `hold` may keep an answer back. */
const inPagesOf = (page, limit, hold = async () => {}) =>
  page.routeWebSocket(/\/api\/v1\/socket/, (socket) => {
    const hub = socket.connectToServer();
    const lists = new Map();
    socket.onMessage((message) => {
      const asked = JSON.parse(message);
      if (asked.method === "sessions") {
        asked.params.limit = limit;
        lists.set(asked.id, asked.params);
      }
      hub.send(JSON.stringify(asked));
    });
    hub.onMessage(async (message) => {
      const asked = lists.get(JSON.parse(message).id);
      if (asked) await hold(asked);
      socket.send(message);
    });
  });

/** Takes in sessions of a folder, the last of them the newest. */
async function sessions(hub, cwd, title, count) {
  const made = [];
  for (let at = 0; at < count; at++) {
    const log = new Script("codex", cwd, `${title} ${at}`);
    log.end(log.turn(`${title} ${at}`));
    made.push(await hub.take(log.events));
  }
  return made;
}

scene("whoever comes back to the inbox, the board or a search finds the place", async ({ open, hub, stage }) => {
  for (let round = 0; round < 4; round++) for (const log of week(`${stage.work}/back-${round}`)) await hub.take(log);
  const asking = [];
  for (const at of [1, 2, 3])
    asking.push((await hub.open({ prompt: `write a note to come back to, ${at}` })).sessionId);
  for (const session of asking) await hub.ask(session);

  const phone = await open({ size: PHONE });
  const inbox = phone.locator("main .scroll");
  await phone.locator("article", { hasText: "come back to, 3" }).waitFor();
  const inInbox = await scrollTo(phone, inbox, 300);
  await awayAndBack(phone, () => phone.evaluate(() => document.querySelector("article header a").click()));
  await until("the place in the inbox", async () => Math.abs((await scrolled(inbox)) - inInbox) < 4);

  await phone.goto(`${stage.url}/sessions`);
  await phone.getByLabel("Search everything").fill("search");
  const hits = phone.getByRole("region", { name: "Found" });
  const inHits = await scrollTo(phone, hits, 200);
  await awayAndBack(phone, () =>
    hits
      .getByRole("link")
      .nth(5)
      .evaluate((link) => link.click()),
  );
  await until("the place among the hits", async () => Math.abs((await scrolled(hits)) - inHits) < 4);

  const desk = await open({ size: { ...DESKTOP, height: 500 }, path: "/sessions" });
  const board = desk.locator("main .scroll");
  const onBoard = await scrollTo(desk, board, 250);
  await awayAndBack(desk, () => desk.evaluate(() => document.querySelector(".board a").click()));
  await until("the place on the board", async () => Math.abs((await scrolled(board)) - onBoard) < 4);
  for (const session of asking) await hub.stop(session);
  assert.deepEqual([phone.complaints, desk.complaints], [[], []]);
});

scene(
  "whoever looks at changed files in the middle of a timeline comes back to the middle",
  async ({ open, hub, stage }) => {
    const session = await hub.take(long(`${stage.work}/middle`, 1_200));
    const page = await open({ path: `/sessions/${session}` });
    const rows = page.locator(".timeline .rows");
    await page
      .getByText(/^Done ·/)
      .last()
      .waitFor();
    await quiet(page);
    const prompts = page.locator(".said .text");
    const inSight = () =>
      prompts.evaluateAll((all) =>
        all
          .filter(
            (one) => one.getBoundingClientRect().top > 60 && one.getBoundingClientRect().bottom < innerHeight - 120,
          )
          .map((one) => `${one.textContent} ${Math.round(one.getBoundingClientRect().top / 12)}`),
      );
    await rows.hover();
    await until("a prompt further up", async () => {
      await page.mouse.wheel(0, -700);
      await quiet(page);
      return (
        (await rows.evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight)) > 2_000 &&
        (await inSight()).length > 0
      );
    });
    const before = await inSight();
    await page.getByRole("link", { name: "Changed files" }).click();
    await page.getByRole("heading", { name: "Changed files", exact: true }).waitFor();
    await page.getByRole("button", { name: "Back", exact: true }).click();
    await until("the same in sight", async () => (await inSight()).some((one) => before.includes(one)));
    // Whoever was at the end comes back to the end.
    await page.getByRole("button", { name: /^Latest/ }).click();
    await page
      .getByText(/^Done ·/)
      .last()
      .waitFor();
    await page.getByRole("link", { name: "Changed files" }).click();
    await page.getByRole("heading", { name: "Changed files", exact: true }).waitFor();
    await page.getByRole("button", { name: "Back", exact: true }).click();
    await until("the end", () =>
      rows.evaluate((one) => one.scrollTop > 0 && one.scrollHeight - one.scrollTop - one.clientHeight < 4),
    );
    assert.deepEqual(page.complaints, []);
  },
);

scene(
  "the archive comes page by page, also after a reload, and says when it does not come",
  async ({ open, hub, stage }) => {
    const made = await sessions(hub, `${stage.work}/archive`, "Put away", 45);
    for (const session of made) await hub.call("PATCH", `/sessions/${session}`, { archived: true });
    const page = await open({ path: "/machines" });
    await inPagesOf(page, 20);
    await page.goto(`${stage.url}/sessions`);
    await page.getByRole("radio", { name: "Archive" }).click();
    await page.getByText("Put away 44", { exact: true }).waitFor();
    await page.reload();
    await page.getByRole("radio", { name: "Archive", checked: true }).waitFor();
    await page.getByText("Put away 44", { exact: true }).waitFor();
    await until("the last of them", async () => {
      await page.locator(".list .rows").evaluate((list) => list.scrollTo(0, list.scrollHeight));
      return (await page.getByText("Put away 0", { exact: true }).count()) > 0;
    });

    const other = await open({ path: "/machines" });
    let refused = 0;
    await other.routeWebSocket(/\/api\/v1\/socket/, (socket) => {
      const link = socket.connectToServer();
      socket.onMessage((message) => {
        const { id, method, params } = JSON.parse(message);
        if (method !== "sessions" || !params.archived || refused++) return link.send(message);
        socket.send(
          JSON.stringify({
            jsonrpc: "2.0",
            id,
            error: {
              code: -32000,
              message: "busy",
              data: { code: "busy", status: 503, title: "the hub is busy", retry: true },
            },
          }),
        );
      });
    });
    await other.goto(`${stage.url}/sessions`);
    await other.getByRole("radio", { name: "Archive" }).click();
    await other.getByText("The archive could not be loaded").waitFor();
    await other.getByRole("button", { name: "Try again" }).click();
    await other.getByText("Put away 44", { exact: true }).waitFor();
    assert.deepEqual([page.complaints, other.complaints], [[], []]);
  },
);

scene("what comes while one scrolls does not move what is read", async ({ open, hub, stage }) => {
  // The folder that comes first has more sessions on the next page.
  await sessions(hub, `${stage.work}/stay-first`, "First, old", 25);
  await sessions(hub, `${stage.work}/stay-second`, "Second", 40);
  await sessions(hub, `${stage.work}/stay-first`, "First, new", 10);
  const page = await open({ path: "/machines" });
  let release;
  const held = new Promise((done) => (release = done));
  await inPagesOf(page, 50, ({ cursor }) => (cursor ? held : undefined));
  await page.goto(`${stage.url}/sessions`);
  const rows = page.locator(".list .rows");
  await page.getByText("First, new 9", { exact: true }).waitFor();
  await scrollTo(page, rows, 2_400);
  const row = page.locator("[data-row]", { hasText: /Second \d+/ });
  const seen = () =>
    row.evaluateAll((all) =>
      Object.fromEntries(
        all.map((one) => [one.querySelector("b").textContent, Math.round(one.getBoundingClientRect().top)]),
      ),
    );
  const before = await seen();
  const [name] = Object.entries(before).find(([, top]) => top > 200 && top < 600);
  const height = await rows.evaluate((list) => list.scrollHeight);
  release();
  await until("more of them", () => rows.evaluate((list, height) => list.scrollHeight > height + 600, height));
  await quiet(page);
  const after = await seen();
  assert.ok(Math.abs(after[name] - before[name]) < 40, `${name} was at ${before[name]} and is at ${after[name]}`);
  assert.deepEqual(page.complaints, []);
});

scene("when a tablet is turned, keys still lead to what waits", async ({ open, hub, stage }) => {
  for (const log of week(`${stage.work}/turned`)) await hub.take(log);
  const { sessionId } = await hub.open({ prompt: "write a note on a tablet" });
  await hub.ask(sessionId);
  const page = await open({ size: { width: 820, height: 1_180 } });
  await page.locator("main article", { hasText: "on a tablet" }).waitFor();
  await page.setViewportSize({ width: 1_180, height: 820 });
  await page.locator("aside [data-row]").first().waitFor();
  await page.keyboard.press("j");
  assert.deepEqual(
    await page.evaluate(() => [
      document.activeElement.closest("aside") !== null,
      document.activeElement.closest("main") !== null,
    ]),
    [false, true],
  );
  // Where the screen has no list of its own, they lead through the one beside.
  await page.goto(`${stage.url}/machines`);
  await page.locator("aside [data-row]").first().waitFor();
  await page.keyboard.press("j");
  assert.ok(await page.evaluate(() => document.activeElement.closest("aside") !== null));
  await hub.stop(sessionId);
});

scene(
  "a file that is dropped where nothing takes it does not replace the app",
  async ({ open }) => {
    const page = await open({ path: "/machines" });
    await page.getByRole("heading", { name: "Machines and devices" }).waitFor();
    for (const [path, title] of [
      ["/sessions", "Sessions"],
      ["/usage", "Usage"],
    ]) {
      await page.goto(new URL(path, page.url()).href);
      await page.getByRole("heading", { name: title }).first().waitFor();
      const kept = await page.evaluate(() =>
        ["dragover", "drop"].map((type) => {
          const carried = new DataTransfer();
          carried.items.add(new File(["x"], "x.txt", { type: "text/plain" }));
          const event = new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: carried });
          document.querySelector("main").dispatchEvent(event);
          return event.defaultPrevented;
        }),
      );
      assert.deepEqual(kept, [true, true], path);
    }
  },
  { anywhere: true },
);

scene("changed files are read without the hub", async ({ open, hub, stage }) => {
  const session = await hub.take(varied(`${stage.work}/changes-offline`));
  // The screen itself is there; what it shows is not.
  const page = await open({ path: `/sessions/${session}/changes` });
  await page.getByText("search.rs").first().waitFor();
  await page.getByRole("button", { name: "Back", exact: true }).click();
  await page.getByText("The answer of the second turn.").waitFor();
  await page.context().setOffline(true);
  await page.getByText("Offline", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Changed files" }).click();
  await page.getByText("search.rs").first().waitFor();
  assert.equal(await page.getByText("Loading…").count(), 0);
  await page.context().setOffline(false);
  assert.deepEqual(page.complaints, []);
});
