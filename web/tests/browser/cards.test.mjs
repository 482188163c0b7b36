// Approvals by keyboard, commands that hide their end, answers that are copied, parts that do not come.
import assert from "node:assert/strict";
import { DESKTOP, PHONE, controlled, heard, prompt, quiet, until } from "./browser.mjs";
import { scene } from "./given.mjs";
import { BURIED, LONG_FILE, STUFFED_END, STUFFING, varied, week } from "./scenes.mjs";

scene("approvals are answered by keyboard, in the inbox and in a session", async ({ open, hub, stage }) => {
  for (const log of week(stage.work)) await hub.take(log);
  const first = (await hub.open({ prompt: "write a note by key" })).sessionId;
  await hub.ask(first);
  const page = await open({ size: DESKTOP });
  const card = page.locator("main article", { hasText: "write a note by key" });
  await card.waitFor();
  // Other scenes leave things that wait; the first keys lead to them, never into the list beside.
  await until("the card is focused", async () => {
    await page.keyboard.press("j");
    assert.equal(
      await page.evaluate(() => document.activeElement.closest("aside") !== null),
      false,
      "in the list beside",
    );
    return card.locator("[data-ask]").evaluate((ask) => ask === document.activeElement);
  });
  await heard(card);
  await page.keyboard.press("y");
  await until("another ask, after the first was allowed", async () =>
    (await hub.call("GET", `/sessions/${first}/timeline`)).items.some(
      (item) => item.kind === "approval" && item.content.decision?.decision === "allow_once",
    ),
  );
  await hub.stop(first);

  const second = (await hub.open({ prompt: "write a note by key again" })).sessionId;
  await hub.ask(second);
  await page.goto(`${stage.url}/sessions/${second}`);
  await page.getByRole("button", { name: "Allow once" }).waitFor();
  await page.evaluate(() => document.activeElement?.blur?.());
  const field = page.getByLabel("Message to the agent");
  await until("the field is focused", async () => {
    if (!(await field.count())) await page.keyboard.press("d");
    return (await field.count()) > 0 && field.evaluate((one) => one === document.activeElement);
  });
  await page.keyboard.type("by key");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Back", exact: true }).last().click();
  await page.evaluate(() => document.activeElement?.blur?.());
  // It is heard once the card is in sight, and not before.
  await until("it is denied", async () => {
    await page.keyboard.press("x");
    return (await page.getByTitle(/denied by owner/).count()) > 0;
  });
  await hub.stop(second);

  // From the top of the page to its content in two keys.
  await page.goto(`${stage.url}/`);
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "To the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "content");
  assert.deepEqual(page.complaints, []);
});

scene("a second tap at the same place does not decide what moves there", async ({ open, hub, stage }) => {
  const asked = [];
  for (const number of [1, 2]) {
    asked.push((await hub.open({ prompt: `write a note tapped ${number}` })).sessionId);
    await hub.ask(asked.at(-1));
  }
  const decided = async (session) =>
    (await hub.call("GET", `/sessions/${session}/timeline`)).items.some(
      (item) => item.kind === "approval" && item.content.decision,
    );
  const page = await open();
  const cards = asked.map((_, at) => page.locator("main article", { hasText: `write a note tapped ${at + 1}` }));
  for (const card of cards) await heard(card);
  await cards[0].getByRole("button", { name: "Allow once" }).scrollIntoViewIfNeeded();
  // As soon as another button is under the finger, and in the same frame.
  const taps = await cards[0].evaluate(
    (card) =>
      new Promise((done) => {
        const allow = [...card.querySelectorAll("button")].find((one) => one.textContent.includes("Allow once"));
        const { x, y, width, height } = allow.getBoundingClientRect();
        const under = () => document.elementFromPoint(x + width / 2, y + height / 2)?.closest("button");
        allow.click();
        const look = () => {
          const next = card.isConnected ? undefined : under();
          if (next?.textContent.includes("Allow once")) return (next.click(), done("tapped the next one"));
          requestAnimationFrame(look);
        };
        look();
      }),
  );
  assert.equal(taps, "tapped the next one");
  await until("the first is allowed", () => decided(asked[0]));
  await heard(cards[1]);
  assert.equal(await decided(asked[1]), false, "nobody meant that one");
  // The list may move once more; then a tap is not heard, and a person taps again.
  await until("the second is allowed", async () => {
    await cards[1]
      .getByRole("button", { name: "Allow once" })
      .click({ timeout: 1_000 })
      .catch(() => undefined);
    return decided(asked[1]);
  });
  for (const session of asked) await hub.stop(session);
  assert.deepEqual(page.complaints, []);
});

scene("an approval out of sight is shown before a key decides it", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "speak at length" });
  await hub.rest(sessionId);
  await hub.call("POST", `/sessions/${sessionId}/prompts`, { content: "write a note out of sight" });
  const page = await open({ size: { width: 1_000, height: 460 }, path: `/sessions/${sessionId}` });
  await page.getByRole("button", { name: "Allow once" }).waitFor();
  await page.locator(".timeline .rows").evaluate((list) => list.scrollTo(0, 0));
  const pill = page.getByRole("button", { name: /Latest: the agent needs you/ });
  await pill.waitFor();
  await page.keyboard.press("y");
  await page.getByRole("button", { name: "Allow once" }).waitFor();
  assert.equal((await hub.session(sessionId)).activity, "waiting", "nothing was decided that was not seen");
  await hub.stop(sessionId);
  assert.deepEqual(page.complaints, []);
});

for (const what of Object.keys(STUFFING))
  scene(`the end of a command that is stuffed with ${what} is seen beside the buttons`, async ({ open, hub }) => {
    const { sessionId } = await hub.open({ prompt: `be long with ${what}` });
    await hub.ask(sessionId);
    for (const path of [`/sessions/${sessionId}`, "/"]) {
      const page = await open({ size: PHONE, path });
      const card = page.locator("[data-ask]", { hasText: "elsewhere" }).first();
      await card.waitFor();
      await card.getByRole("button", { name: "Allow once" }).scrollIntoViewIfNeeded();
      await quiet(page);
      const found = await card.evaluate((ask, end) => {
        const pre = ask.querySelector("pre");
        const text = [...pre.childNodes].findLast((node) => node.textContent.includes(end));
        const range = document.createRange();
        range.selectNodeContents(text);
        const last = range.getClientRects();
        const bottom = last[last.length - 1].bottom;
        const allow = [...ask.querySelectorAll("button")]
          .find((one) => one.textContent.includes("Allow once"))
          .getBoundingClientRect();
        const scrollers = [...ask.querySelectorAll("*")].filter(
          (one) => one.scrollHeight > one.clientHeight + 2 && /auto|scroll/.test(getComputedStyle(one).overflowY),
        ).length;
        return {
          near: allow.top - bottom,
          inView: bottom > 0 && allow.bottom <= innerHeight + 2,
          scrollers,
          ends: pre.textContent.trim().endsWith(end),
        };
      }, STUFFED_END);
      assert.ok(found.ends && found.inView && found.near >= 0 && found.near < 260, JSON.stringify(found));
      assert.equal(found.scrollers, 0, "no scroller within the card");
      await card.getByText("deletes").waitFor();
      if (what === "lines" || what === "letters") {
        await card
          .getByText(/not shown/)
          .first()
          .waitFor();
        await card.getByRole("button", { name: /^Show all/ }).click();
        await until("all of it", async () => (await card.getByText(/not shown|left out/).count()) === 0);
      } else await card.getByText(/×(400|3000)/).waitFor();
      assert.deepEqual(page.complaints, []);
    }
    await hub.stop(sessionId);
  });

scene("the inbox shows all of what is decided on, also where a row is cut", async ({ open, hub }) => {
  // One page was there before it was asked, and hears of it in a row; the other finds it there.
  const before = await open({ path: "/sessions" });
  await before.getByRole("navigation", { name: "Main" }).waitFor();
  const buried = (await hub.open({ prompt: "bury a danger" })).sessionId;
  const long = (await hub.open({ prompt: "write the long file" })).sessionId;
  for (const session of [buried, long]) await hub.ask(session);
  for (const page of [before, await open()]) {
    await page.bringToFront();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /Inbox/ }).click();
    const card = page.locator("main article", { hasText: "bury a danger" }).locator("[data-ask]");
    await card.getByRole("button", { name: "Allow once" }).waitFor();
    await card.getByText("deletes").waitFor();
    const shown = () => card.locator("pre").first().innerText();
    assert.ok((await shown()).includes(STUFFED_END), "what deletes is seen before anything is opened");
    await card
      .getByRole("button", { name: /^Show all/ })
      .first()
      .click();
    await until("all of it", async () => (await shown()).includes(BURIED));
    const file = page.locator("main article", { hasText: "write the long file" });
    await file.getByText(LONG_FILE.at(-1), { exact: true }).waitFor();
    assert.equal(
      await file.locator(".diff").getByText(String(LONG_FILE.length), { exact: true }).count(),
      1,
      "the last line has its number",
    );
    assert.equal(await file.getByText(/left out/).count(), 0);
    assert.deepEqual(page.complaints, []);
  }
  for (const session of [buried, long]) await hub.stop(session);
});

scene("what a device has only a part of is denied, and not allowed", async ({ open, hub, stage }) => {
  const { sessionId } = await hub.open({ prompt: "bury a danger in a tunnel" });
  await hub.ask(sessionId);
  const page = await open({ path: "/machines" });
  // A hub that tells rows and never the session itself.
  await page.routeWebSocket(/\/api\/v1\/socket/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const { id, method } = JSON.parse(message);
      if (method === "approvals")
        return socket.send(
          JSON.stringify({ jsonrpc: "2.0", id, result: { approvals: [], questions: [], interrupted: [], held: [] } }),
        );
      if (method !== "session") server.send(message);
    });
    server.onMessage((message) => socket.send(message));
  });
  await page.goto(`${stage.url}/`);
  const card = page.locator("main article", { hasText: "in a tunnel" }).locator("[data-ask]");
  await card.getByText("Loading the rest…").waitFor();
  await card.focus();
  await page.keyboard.press("y");
  assert.equal(await card.getByRole("button", { name: /^Allow/ }).count(), 0);
  assert.equal((await hub.session(sessionId)).activity, "waiting", "a key allows it no more than a tap");
  await card.getByRole("button", { name: "Deny", exact: true }).click();
  await until("it is denied", async () =>
    (await hub.call("GET", `/sessions/${sessionId}/timeline`)).items.some(
      (item) => item.kind === "approval" && item.content.decision?.decision === "deny",
    ),
  );
  await hub.stop(sessionId);
});

scene(
  "answers and outputs are copied on a phone, and outputs are read on a screen of their own",
  async ({ open, hub, stage }) => {
    const session = await hub.take(varied(`${stage.work}/varied`));
    const page = await open({ path: `/sessions/${session}`, permissions: ["clipboard-read", "clipboard-write"] });
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await page.getByText("The answer of the second turn.").waitFor();
    await page.getByRole("group", { name: "Answer" }).last().getByRole("button", { name: "Copy" }).click();
    await until("the answer", async () => (await copied()) === "The answer of the second turn.");

    // One line for three tries, one plan for two, one lecture for two.
    assert.equal(await page.getByText(/of 10/).count(), 1);
    assert.equal(await page.getByRole("region", { name: "Plan" }).count(), 1);

    await page.getByText("make test").first().scrollIntoViewIfNeeded();
    await page.getByText("exit 3").first().waitFor();
    await page.getByText("make test").first().click();
    // A card that was just opened may still move under the finger.
    await until("the output", async () => {
      await page.getByRole("button", { name: "Copy output" }).first().click();
      return /PASS.*orange\nline 0 /.test(await copied());
    });
    await page.getByRole("button", { name: /Show all 81 lines/ }).click();
    const viewer = page.getByRole("dialog");
    await viewer.getByText(/^line 79 /).waitFor();
    await viewer.getByLabel("Find in the output").fill("line 12 ");
    await viewer.getByRole("button", { name: /1 line/ }).click();
    await viewer.locator("mark").first().waitFor();
    await viewer.getByRole("button", { name: "Wrap" }).click();
    await viewer.getByRole("button", { name: "Close" }).click();

    // What was opened stays open when it leaves the screen.
    await page.locator(".timeline .rows").evaluate((list) => list.scrollTo(0, list.scrollHeight));
    await page.getByText("The answer of the second turn.").waitFor();
    await page.locator(".timeline .rows").evaluate((list) => list.scrollTo(0, 0));
    await page.getByRole("button", { name: /Show all 81 lines/ }).waitFor();

    // Right to left, where the words are; colours in a diff.
    assert.equal(
      await page.locator(".prose p", { hasText: "مرحبا" }).evaluate((words) => getComputedStyle(words).direction),
      "rtl",
    );
    assert.equal(
      await page.locator(".prose ul", { hasText: "بند" }).evaluate((list) => getComputedStyle(list).direction),
      "rtl",
    );
    await page.getByText("search.rs").first().click();
    await page.locator(".diff .hljs-keyword").first().waitFor();

    // Thumbs need room.
    await page.getByRole("button", { name: "What to do with this message" }).first().click();
    for (const word of ["Copy", "Reuse prompt", "Quote"])
      await page.getByRole("dialog").getByRole("button", { name: word }).waitFor();
    await page.keyboard.press("Escape");
    const small = await page.evaluate(() =>
      [...document.querySelectorAll(".composer button, .under button, .deeds button, .bar button, .bar a")]
        .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 43.5)
        .map((one) => one.outerHTML.slice(0, 80)),
    );
    assert.deepEqual(small, []);
    assert.deepEqual(page.complaints, []);
  },
);

scene("a part that does not come says so, and comes when it is tried again", async ({ open }) => {
  const page = await open({ path: "/machines" });
  await page.getByRole("heading", { name: "Machines and devices" }).waitFor();
  await page.route(/\/assets\/Usage-.*\.js/, (route) => route.fulfill({ status: 404, body: "gone" }));
  await page.getByRole("link", { name: "Usage" }).click();
  await page.getByText("This part could not be loaded").waitFor();
  await page.unroute(/\/assets\/Usage-.*\.js/);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Usage" }).waitFor();
});

scene("a hub that was updated reloads the page, unless somebody is writing", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}`, serviceWorkers: "allow" });
  await controlled(page);
  await page.reload();
  await prompt(page).fill("in the middle of a");
  await page.evaluate(() => navigator.serviceWorker.dispatchEvent(new Event("controllerchange")));
  await page.getByText("Longshore was updated.").waitFor();
  assert.equal(await prompt(page).inputValue(), "in the middle of a");
  const loaded = page.waitForEvent("load");
  await page.getByRole("button", { name: "Reload" }).click();
  await loaded;
  await until("the words", async () => (await prompt(page).inputValue()) === "in the middle of a");
  await prompt(page).fill("");
  await page.evaluate(() => document.activeElement.blur());
  const again = page.waitForEvent("load");
  await page.evaluate(() => navigator.serviceWorker.dispatchEvent(new Event("controllerchange")));
  await again;
});
