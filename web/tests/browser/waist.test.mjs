// What the hub holds, cuts, shows and forgets: a queue after a stop, a restart in
// the middle of a turn, pictures, deletion.
import assert from "node:assert/strict";
import { hearing, PHONE, prompt, until } from "./browser.mjs";
import { scene } from "./given.mjs";
import { pictured, varied } from "./scenes.mjs";

const word = (page, at) =>
  page
    .getByText(new RegExp(`Word ${at}\\b`))
    .first()
    .waitFor();

scene("after a stop the queue is held until somebody sends it on, or discards it", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "speak endlessly", mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await word(page, 3);
  const queued = page.getByLabel("Queued prompts");
  for (const words of ["hail one", "hail two", "hail three"]) {
    await prompt(page).fill(words);
    await page.getByRole("button", { name: "Queue" }).click();
    await queued.getByText(words).waitFor();
  }
  await page.getByRole("button", { name: "Stop the turn" }).click();
  await queued.getByText("Interrupted. 3 prompts are held.").waitFor();
  await hub.rest(sessionId);
  assert.equal((await hub.session(sessionId)).queue.length, 3, "nothing was sent");
  // Who sends the next one after all has not agreed to lose the others.
  await queued.getByRole("button", { name: "Discard" }).click();
  await queued.getByRole("button", { name: "Really discard?" }).waitFor();
  await queued.getByRole("button", { name: "Send next" }).click();
  await page.getByText("Hail to you.").first().waitFor();
  await queued.getByText("2 prompts are held.", { exact: true }).waitFor();
  await queued.getByRole("button", { name: "Discard", exact: true }).click();
  await queued.getByRole("button", { name: "Really discard?" }).click();
  await queued.waitFor({ state: "detached" });
  await hub.rest(sessionId);
  assert.equal(await page.getByText("Hail to you.").count(), 1);
  assert.deepEqual(page.complaints, []);
});

scene("held prompts stand in the inbox and in the list, and are sent on from there", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "speak endlessly", mode: "full", title: "Held for the inbox" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await word(page, 3);
  await prompt(page).fill("hail from the inbox");
  await page.getByRole("button", { name: "Queue" }).click();
  await page.getByLabel("Queued prompts").getByText("hail from the inbox").waitFor();
  await page.getByRole("button", { name: "Stop the turn" }).click();
  await page.getByText("Interrupted. 1 prompt is held.").waitFor();
  await hub.rest(sessionId);

  await page.getByRole("button", { name: "Back", exact: true }).click();
  await page.getByRole("radio", { name: "Needs you" }).click();
  await page
    .locator(".list .session", { has: page.locator(`[href="/sessions/${sessionId}"]`) })
    .getByText("1 held")
    .waitFor();
  // Who comes first to the inbox stays there: something waits.
  const other = await open({ path: "/" });
  const card = other.locator("article", { has: other.locator(`[href="/sessions/${sessionId}"]`) });
  await card.getByText("hail from the inbox").waitFor();
  assert.equal(await other.getByText("You're all caught up").count(), 0);
  const counted = async () => Number(/^\((\d+)\)/.exec(await other.title())?.[1] ?? 0);
  const before = await counted();
  await other.getByText(`${before} waiting for you`).first().waitFor();
  await card.getByRole("button", { name: "Send next" }).click();
  await card.waitFor({ state: "detached" });
  await until("one less", async () => (await counted()) === before - 1);
  await until("it was said", async () =>
    (await hub.call("GET", `/sessions/${sessionId}/timeline`)).items.some(
      (item) => item.kind === "user_message" && item.text === "hail from the inbox",
    ),
  );
  assert.deepEqual([...page.complaints, ...other.complaints], []);
});

scene("a queued prompt is rewritten, kept as it was, or sent at once", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "speak endlessly", mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await word(page, 3);
  const queued = page.getByLabel("Queued prompts");
  await prompt(page).fill("hail later");
  await page.getByRole("button", { name: "Queue" }).click();
  await queued.getByText("hail later").waitFor();
  await queued.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Edit the prompt").fill("something else");
  await queued.getByRole("button", { name: "Cancel" }).click();
  await queued.getByText("hail later").waitFor();
  await queued.getByRole("button", { name: "Send now" }).click();
  await queued.waitFor({ state: "detached" });
  await until("it was said", async () =>
    (await hub.call("GET", `/sessions/${sessionId}/timeline`)).items.some(
      (item) => item.kind === "user_message" && item.text === "hail later",
    ),
  );
  await hub.stop(sessionId);
  assert.deepEqual(page.complaints, []);
});

scene("a long queued prompt is edited and sent with all of its words", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "speak endlessly", mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await word(page, 3);
  const queued = page.getByLabel("Queued prompts");
  const words = `hail at first, ${"and on and on, ".repeat(200)}and at last`;
  await prompt(page).fill(words);
  await page.getByRole("button", { name: "Queue" }).click();
  await queued.getByText(/^hail at first/).waitFor();
  await queued.getByRole("button", { name: "Edit" }).click();
  const field = page.getByLabel("Edit the prompt");
  await until("all of them", async () => (await field.inputValue()) === words);
  const edited = words.replace("hail at first", "hail before all");
  await field.fill(edited);
  await queued.getByRole("button", { name: "Save" }).click();
  await queued.getByText(/^hail before all/).waitFor();
  assert.equal((await hub.session(sessionId)).queue[0].text, edited);
  await queued.getByRole("button", { name: "Send now" }).click();
  await queued.waitFor({ state: "detached" });
  await until("all of it was said", async () =>
    (await hub.call("GET", `/sessions/${sessionId}/timeline`)).items.some(
      (item) => item.kind === "user_message" && item.text === edited,
    ),
  );
  await hub.stop(sessionId);
  assert.deepEqual(page.complaints, []);
});

scene("what was said first is seen whole while the agent starts", async ({ open, hub, stage }) => {
  const { sessionId } = await hub.open({ mode: "full" });
  const page = await open({ path: "/machines" });
  const words = `begin here, ${"and on, ".repeat(200)}and end there`;
  // An agent that takes its time to start: rows have its first prompt cut, the session itself has it whole.
  await page.routeWebSocket(/\/api\/v1\/socket/, (socket) => {
    const server = socket.connectToServer();
    const asked = new Set();
    const starting = (row, whole) =>
      row?.sessionId === sessionId
        ? {
            ...row,
            activity: "starting",
            status: "active",
            queue: [
              {
                prompt: "p",
                turn: "t",
                by: "owner",
                ...(whole ? { text: words } : { text: "begin here … and end there", cut: true }),
              },
            ],
          }
        : row;
    socket.onMessage((message) => {
      const { id, method } = JSON.parse(message);
      if (method === "session") asked.add(id);
      server.send(message);
    });
    server.onMessage((message) => {
      const told = JSON.parse(message);
      if (told.method === "session") told.params = starting(told.params, false);
      else if (asked.has(told.id)) told.result = starting(told.result, true);
      else if (told.result?.sessions) told.result.sessions = told.result.sessions.map((row) => starting(row, false));
      socket.send(JSON.stringify(told));
    });
  });
  await page.goto(`${stage.url}/sessions/${sessionId}`);
  await page.getByText(words).waitFor();
  // Every row that comes has it cut again.
  await hub.call("PATCH", `/sessions/${sessionId}`, { title: "Renamed meanwhile" });
  await page.getByRole("heading", { name: "Renamed meanwhile" }).waitFor();
  await page.getByText(words).waitFor();
  assert.deepEqual(page.complaints, []);
});

scene("a restart of the hub leaves what it cut in the inbox, to be resumed", async ({ open, hub, stage }) => {
  const ids = [];
  for (const name of ["one", "two"])
    ids.push((await hub.open({ prompt: `speak endlessly, cut ${name}`, mode: "full" })).sessionId);
  for (const id of ids)
    await until("words", async () =>
      (await hub.call("GET", `/sessions/${id}/timeline`)).items.some((item) => item.kind === "message"),
    );
  await stage.killHub();
  await stage.startHub();
  const page = await open({ size: PHONE });
  // Other scenes leave things that were cut as well.
  await page.getByText(/Interrupted by a restart \(\d+\)/).waitFor();
  await page.getByRole("button", { name: "Resume all" }).waitFor();
  const badge = page.getByRole("navigation", { name: "Main" }).locator(".count");
  await until(
    "the head says what the badge does",
    async () => (await page.locator("p.under").textContent()) === `${await badge.textContent()} waiting for you`,
  );
  await page.getByRole("button", { name: /^Resume .*cut two/ }).waitFor();
  // Which is which is read beside the button as well, where titles begin alike.
  for (const title of await page.locator(".cut b", { hasText: "speak endlessly, cut" }).all())
    assert.ok(
      await title.evaluate((one) => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight),
      await title.textContent(),
    );
  await page.getByRole("button", { name: /^Resume .*cut one/ }).click();
  await page.getByRole("button", { name: /^Resume .*cut one/ }).waitFor({ state: "detached" });
  await until("it goes on", async () => !(await hub.session(ids[0])).cutByRestart);
  await hub.stop(ids[0]);
  await page.goto(`${stage.url}/sessions`);
  await page.getByText("interrupted", { exact: true }).first().waitFor();
  // The session itself says so once, and goes on from there too.
  await page.goto(`${stage.url}/sessions/${ids[1]}`);
  await page.getByText("Interrupted: the hub restarted").first().waitFor();
  assert.equal(await page.getByText(/the hub (was )?restarted/).count(), 1);
  await page.getByText("A restart of the hub interrupted this turn.").waitFor();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await page.getByText("A restart of the hub interrupted this turn.").waitFor({ state: "detached" });
  await until("it goes on", async () => !(await hub.session(ids[1])).cutByRestart);
  await hub.stop(ids[1]);
  assert.deepEqual(page.complaints, []);
});

scene("a picture in a result is seen in the card, and large", async ({ open, hub, stage }) => {
  const session = await hub.take(pictured(`${stage.work}/pictured`));
  const page = await open({ path: `/sessions/${session}` });
  const thumb = page.getByRole("button", { name: "Show dot.png large" });
  await thumb.first().waitFor();
  await until("it is painted", () =>
    thumb
      .first()
      .locator("canvas")
      .evaluate((canvas) => canvas.width === 2 && canvas.getContext("2d").getImageData(0, 0, 1, 1).data[0] > 200),
  );
  await thumb.first().click();
  await page.getByRole("dialog", { name: "dot.png" }).locator("canvas").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(page.complaints, []);
});

scene("a session is deleted with a typed word, everywhere", async ({ open, hub, stage }) => {
  const session = await hub.take(varied(`${stage.work}/deleted`));
  const [page, other] = [await open({ path: `/sessions/${session}` }), await open({ path: `/sessions/${session}` })];
  for (const one of [page, other]) await one.getByText("The answer of the second turn.").waitFor();
  // Only a page that is in front draws as it does for a person.
  await page.bringToFront();
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("button", { name: "Delete…" }).click();
  const sure = page.getByRole("button", { name: "Delete for good" });
  assert.ok(await sure.isDisabled());
  await page.getByLabel(/to confirm/).fill("delete");
  await hearing(page.getByText("Deleted", { exact: true }), () => sure.click());
  await other
    .getByText(/No such session|can't be shown/)
    .first()
    .waitFor();
  await assert.rejects(hub.session(session), /unknown_session/);
  assert.deepEqual(page.complaints, []);
});

scene("a plan is approved as a plan, or sent back with words", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ agent: "claude", prompt: "plan it, claude", mode: "plan" });
  const page = await open({ path: `/sessions/${sessionId}` });
  const card = page.getByRole("group", { name: "Go ahead with this plan?" });
  await card.waitFor();
  await card.getByText("Look at the cart").waitFor();
  assert.equal(await page.getByText("Look at the cart").count(), 1, "the plan is there once");
  assert.equal(await card.getByText(/[{}]|\\\\n/).count(), 0, "no JSON");
  for (const word of ["Go ahead", "Go ahead, edit without asking", "Keep planning…"])
    await card.getByRole("button", { name: word, exact: true }).waitFor();
  await card.getByRole("button", { name: "Keep planning…" }).click();
  await card.getByLabel("Message to the agent").fill("mind the rounding");
  await card.getByRole("button", { name: "Keep planning", exact: true }).click();
  await page
    .getByText(/“mind the rounding”/)
    .first()
    .waitFor();
  await page
    .getByText(/asked to keep planning/)
    .first()
    .waitFor();
  await hub.stop(sessionId);
  assert.deepEqual(page.complaints, []);
});
