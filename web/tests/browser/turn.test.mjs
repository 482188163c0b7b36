// A turn while it runs, what stands around it, and what is chosen before it begins.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PHONE, prompt, quiet, until, withRows } from "./browser.mjs";
import { scene } from "./given.mjs";
import { varied } from "./scenes.mjs";

scene("while a turn runs its plan is pinned above the composer", async ({ open, hub, stage }) => {
  const { sessionId } = await hub.open({ prompt: "plan and hold", mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}` });
  const pinned = page.getByRole("button", { name: /^1\/3 ?Change the sum/ });
  await pinned.waitFor();
  await pinned.click();
  await page.getByRole("dialog").getByText("Run the tests").waitFor();
  await page.keyboard.press("Escape");
  writeFileSync(join(stage.shop, "gate-plan"), "");
  await page.getByText("Held, as planned.").waitFor();
  await pinned.waitFor({ state: "detached" });
  assert.deepEqual(page.complaints, []);
});

scene("the end of what a command says is seen while it runs", async ({ open, hub, stage }) => {
  const { sessionId } = await hub.open({ agent: "react", prompt: "print and hold", mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await until(
    "the last three lines",
    async () => (await page.locator(".newest").allTextContents()).join("") === "5\n6\n7",
  );
  writeFileSync(join(stage.shop, "gate-print"), "");
  await page.getByText("Printed.").waitFor();
  assert.equal(await page.locator(".newest").count(), 0);
  assert.deepEqual(page.complaints, []);
});

scene("a question with two parts says each of them once, and who asks", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "ask twice", mode: "plan" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await page.getByRole("heading", { name: "Codex has a question" }).waitFor();
  for (const part of ["roof", "door"])
    assert.equal(await page.getByText(`Which colour has the ${part}?`).count(), 1, part);
  await hub.stop(sessionId);
  assert.deepEqual(page.complaints, []);
});

scene(
  "whoever reads further up sees how much is new, and whoever sees all of it no pill",
  async ({ open, hub, stage }) => {
    const { sessionId } = await hub.open({ prompt: "speak at length", mode: "full" });
    await hub.rest(sessionId);
    const page = await open({ size: { width: 390, height: 500 }, path: `/sessions/${sessionId}` });
    await page.getByText(/^Done ·/).waitFor();
    await quiet(page);
    await page.locator(".timeline .rows").evaluate((list) => list.scrollTo(0, 0));
    await page.getByRole("button", { name: "Latest", exact: true }).waitFor();
    await hub.call("POST", `/sessions/${sessionId}/prompts`, { content: "hail from below" });
    await page.getByRole("button", { name: /^Latest: \d+ new$/ }).click();
    await page.getByText("Hail to you.").waitFor();

    const small = await hub.take(varied(`${stage.work}/all-in-sight`));
    const other = await open({ size: { width: 390, height: 2_400 }, path: `/sessions/${small}?seq=5` });
    await other.locator(".place.marked").waitFor();
    await other.getByText("The answer of the second turn.").waitFor();
    await quiet(other);
    assert.equal(await other.getByRole("button", { name: /^Latest/ }).count(), 0);
    assert.deepEqual([page.complaints, other.complaints], [[], []]);
  },
);

scene(
  "the first prompt is on the timeline while the agent starts, and not in the queue",
  async ({ open, hub, stage }) => {
    const { sessionId } = await hub.open({ mode: "full" });
    const queue = [
      { prompt: sessionId, by: "owner", text: "the very first words", queuedAt: new Date().toISOString() },
    ];
    const page = await open({ path: "/machines" });
    await withRows(page, (row) =>
      row.sessionId === sessionId ? { ...row, activity: "starting", title: undefined, queue } : row,
    );
    await page.goto(`${stage.url}/sessions/${sessionId}`);
    await page.locator(".said", { hasText: "the very first words" }).waitFor();
    await page.getByText("Starting the agent…").waitFor();
    await page.getByRole("heading", { name: "the very first words" }).waitFor();
    assert.equal(await page.getByText(/\d queued/).count(), 0);
    assert.deepEqual(page.complaints, []);
  },
);

scene("an output is as wide as its lines, unless it is wrapped", async ({ open, hub, stage }) => {
  const session = await hub.take(varied(`${stage.work}/wrap`));
  const page = await open({ path: `/sessions/${session}` });
  await page.getByText("make test").first().click();
  const layout = (lines) => lines.first().evaluate((one) => getComputedStyle(one).whiteSpace);
  assert.equal(await layout(page.locator(".fold pre[tabindex]")), "pre");
  await page.getByRole("button", { name: /Show all 81 lines/ }).click();
  const line = page.getByRole("dialog").locator(".line");
  await line.first().waitFor();
  assert.equal(await layout(line), "pre");
  await page.getByRole("button", { name: "Wrap", exact: true }).click();
  await until("it is wrapped", async () => (await layout(line)) === "pre-wrap");
  assert.deepEqual(page.complaints, []);
});

scene("how hard a model thinks is chosen at the start and later, in words", async ({ open, hub, stage }) => {
  const page = await open({ path: "/new?agent=codex" });
  await page.getByRole("textbox", { name: "Folder" }).fill(stage.shop);
  const efforts = page.getByRole("radiogroup", { name: "Reasoning effort" });
  await efforts.getByRole("radio", { name: "High", exact: true }).click();
  await page.getByRole("button", { name: /^Start/ }).click();
  await page.waitForURL(/\/sessions\/[^/]+$/);
  const session = page.url().split("/").at(-1);
  assert.equal((await hub.session(session)).effort, "high");
  const pick = page.locator("button.pick", { hasText: "· High" });
  await pick.click();
  await efforts.getByRole("radio", { name: "Extra high" }).click();
  await page.keyboard.press("Escape");
  await page.locator("button.pick", { hasText: "· Extra high" }).waitFor();
  await until("the session has it", async () => (await hub.session(session)).effort === "xhigh");
  assert.deepEqual(page.complaints, []);
});

scene(
  "after a stop all that is held is sent, and after a restart all that was cut is resumed",
  async ({ open, hub, stage }) => {
    const { sessionId } = await hub.open({ prompt: "speak endlessly", mode: "full" });
    const page = await open({ path: `/sessions/${sessionId}` });
    await page
      .getByText(/Word 3\b/)
      .first()
      .waitFor();
    for (const words of ["hail one", "hail two"]) {
      await prompt(page).fill(words);
      await page.getByRole("button", { name: "Queue" }).click();
      await page.getByLabel("Queued prompts").getByText(words).waitFor();
    }
    await page.getByRole("button", { name: "Stop the turn" }).click();
    await page.getByRole("button", { name: "Send all" }).click();
    await until("both are answered", async () => (await page.getByText("Hail to you.").count()) === 2);

    const cut = [await hub.take(varied(`${stage.work}/cut`)), await hub.take(varied(`${stage.work}/cut`))];
    // A list draws the rows that can be seen: here all of them can, however many sessions other scenes have made.
    const other = await open({ path: "/machines", size: { ...PHONE, height: 6_000 } });
    const resumed = [];
    await other.routeWebSocket(/\/api\/v1\/socket/, (socket) => {
      const link = socket.connectToServer();
      const told = (row) =>
        cut.includes(row?.sessionId) ? { ...row, cutByRestart: true, status: "interrupted" } : row;
      socket.onMessage((message) => {
        const call = JSON.parse(message);
        if (call.method !== "resumeAll") return link.send(message);
        resumed.push((result) => socket.send(JSON.stringify({ jsonrpc: "2.0", id: call.id, result })));
      });
      link.onMessage((message) => {
        const said = JSON.parse(message);
        if (said.result?.sessions) said.result.sessions = said.result.sessions.map(told);
        socket.send(JSON.stringify(said));
      });
    });
    await other.goto(`${stage.url}/`);
    await other.getByRole("button", { name: "Resume all" }).click();
    await until("all are told to go on", () => resumed.length === 1);
    // They say so before the hub does, and those that take longer also afterwards, on every screen.
    const onTheirWay = other.getByText("resuming", { exact: true });
    await other.getByRole("button", { name: "Resuming…" }).waitFor();
    await until("each says it", async () => (await onTheirWay.count()) === (await other.locator(".cut").count()));
    resumed[0]({ resumed: [cut[0]], resuming: [cut[1]] });
    await other.getByRole("button", { name: "Resume all" }).waitFor();
    await until("one still says it", async () => (await onTheirWay.count()) === 1);
    await other.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Sessions" }).click();
    await until("it says it in the list", async () => (await onTheirWay.count()) === 1);
    assert.deepEqual([page.complaints, other.complaints], [[], []]);
  },
);

scene(
  "small things: no wire words, no own name, whole names of agents, no machine to choose, no keys on a phone",
  async ({ open, hub, stage }) => {
    const session = await hub.take(varied(`${stage.work}/small-things`));
    const page = await open({ path: "/machines" });
    await page
      .getByRole("button", { name: /^Codex 0|Codex\b/ })
      .first()
      .click();
    const sheet = page.getByRole("dialog");
    await sheet.getByText("Supports").waitFor();
    assert.equal(await sheet.getByText(/\{native\}|pagination|filtering|memory in log/).count(), 0);

    for (const [label, named] of [
      ["Pixel 9", 1],
      ["owner (imported)", 0],
    ]) {
      await page.unrouteAll();
      await page.route(/\/api\/v1\/me$/, (route) =>
        route.fulfill({ json: { role: "device", mode: "full", device: { label } } }),
      );
      await page.goto(`${stage.url}/sessions/${session}`);
      const last = page.locator(".said", { hasText: "go on" });
      await last.waitFor();
      await until(
        `named ${named} times for ${label}`,
        async () => (await last.getByText(/owner \(imported\), /).count()) === named,
      );
    }
    await page.unrouteAll();

    await page.goto(`${stage.url}/usage`);
    await page.getByRole("heading", { name: "Agents" }).waitFor();
    const cut = await page
      .locator("section", { hasText: "Agents" })
      .locator(".name")
      .evaluateAll((names) =>
        names.filter((name) => name.scrollWidth > name.clientWidth).map((name) => name.textContent),
      );
    assert.deepEqual(cut, []);

    await page.goto(`${stage.url}/new?agent=codex`);
    await page.getByRole("textbox", { name: "Folder" }).waitFor();
    assert.equal(await page.getByLabel(/machine/i).count(), 0);

    // Whoever has no keyboard is not taught its keys.
    await page.goto(`${stage.url}/machines`);
    await page.getByText("Enter sends").waitFor();
    assert.equal(await page.getByRole("button", { name: "Keyboard shortcuts" }).count(), 0);

    const notice = page.getByRole("button", { name: /bubblewrap/ });
    await page.goto(`${stage.url}/sessions/${session}?seq=3`);
    await notice.first().click();
    await page.getByRole("button", { name: /bubblewrap/, expanded: true }).waitFor();
    assert.equal(await notice.count(), 1, "a lecture is heard once");
    assert.deepEqual(page.complaints, []);
  },
);

scene("a plan is gone ahead with", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ agent: "claude", prompt: "propose and go", mode: "plan" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await page
    .getByRole("group", { name: "Go ahead with this plan?" })
    .getByRole("button", { name: "Go ahead", exact: true })
    .click();
  await page.getByText("Gone.").waitFor();
  await page
    .getByText(/plan approved by owner/)
    .locator("visible=true")
    .first()
    .waitFor();
  assert.deepEqual(page.complaints, []);
});
