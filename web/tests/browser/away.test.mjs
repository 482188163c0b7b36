// The lid is closed, the tunnel is long, the hub dies: what a page shows
// afterwards is what a page shows that never left.
import assert from "node:assert/strict";
import { hearing, prompt, TALL, until } from "./browser.mjs";
import { scene } from "./given.mjs";

/** The whole timeline as it is read. Only a page that is in front draws as it does for a person. */
async function timeline(page) {
  await page.bringToFront();
  return (await page.locator(".place").allInnerTexts()).join("\n");
}

/** Waits until one page shows what the other shows. */
async function same(page, other) {
  try {
    await until("the same timeline", async () => (await timeline(page)) === (await timeline(other)));
  } catch {
    assert.equal(await timeline(page), await timeline(other));
  }
}

scene("a page that was offline in the middle of a turn shows the same as one that was not", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ mode: "full" });
  const path = `/sessions/${sessionId}`;
  const [stays, leaves] = [await open({ size: TALL, path }), await open({ size: TALL, path })];
  // Both look on before anything is said.
  for (const page of [stays, leaves]) await prompt(page).waitFor();
  // It speaks until it is stopped: however slow the pages are, they miss some of it.
  await prompt(leaves).fill("speak endlessly");
  await leaves.getByRole("button", { name: "Send" }).click();
  await leaves
    .getByText(/Word 9\b/)
    .first()
    .waitFor();
  await leaves.context().setOffline(true);
  await leaves.getByText("Offline").waitFor();
  // A tap without a network is kept, and says so.
  await prompt(leaves).fill("hail from the tunnel");
  await leaves.getByRole("button", { name: /Queue|Send/ }).click();
  await leaves.getByText(/Will be sent when you're back online/).waitFor();
  const heard = async (page) =>
    Number(
      (await timeline(page))
        .match(/Word (\d+)/g)
        .at(-1)
        .slice(5),
    );
  const left = await heard(leaves);
  await until("more words", async () => (await heard(stays)) > left + 40);
  await hearing(leaves.getByText(/Caught up \d+ events/), async () => {
    await leaves.context().setOffline(false);
    await leaves.evaluate(() => dispatchEvent(new Event("online")));
  });
  await leaves.getByLabel("Queued prompts").getByText("hail from the tunnel").waitFor();
  await hub.stop(sessionId);
  await hub.rest(sessionId);
  await hub.call("POST", `/sessions/${sessionId}/queue/send`, {});
  await leaves.getByText("Hail to you.").waitFor();
  await hub.rest(sessionId);
  await same(leaves, stays);
  await same(leaves, await open({ size: TALL, path }));
  assert.match(await timeline(leaves), new RegExp(`Word 0 [^]*Word ${left + 40}\\b[^]*Hail to you`));
  const { items } = await hub.call("GET", `/sessions/${sessionId}/timeline`);
  assert.equal(items.filter((item) => item.text === "hail from the tunnel").length, 1, "the prompt was sent once");
  assert.deepEqual([leaves.complaints, stays.complaints], [[], []]);
});

scene("a prompt that is taken back, or refused, is in the composer again with its file", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await prompt(page).waitFor();
  const file = { name: "kept.txt", mimeType: "text/plain", buffer: Buffer.from("kept") };
  const attach = () => page.locator("input[type=file]").setInputFiles(file);
  const offline = async (off) => {
    await page.context().setOffline(off);
    if (!off) await page.evaluate(() => dispatchEvent(new Event("online")));
    await page.getByText("Offline").waitFor({ state: off ? "visible" : "detached" });
  };
  const send = async (words) => {
    await prompt(page).fill(words);
    await attach();
    await page.locator(".composer").getByText("kept.txt").waitFor();
    await page.getByRole("button", { name: /Queue|Send/ }).click();
    await page.getByText(/Will be sent when you're back online/).waitFor();
  };
  await offline(true);
  await send("hail with a file");
  await prompt(page).fill("half a");
  await page.getByRole("button", { name: "Undo" }).click();
  await until("the words", async () => (await prompt(page).inputValue()) === "half a\n\nhail with a file");
  await page.locator(".composer").getByText("kept.txt").waitFor();
  await page
    .locator(".composer")
    .getByRole("button", { name: /Remove/ })
    .click();

  // The session is closed meanwhile: the hub refuses.
  await send("hail too late");
  await hub.call("DELETE", `/sessions/${sessionId}`);
  await offline(false);
  await page.getByText(/^Not sent: the session is closed/).waitFor();
  await page.getByRole("button", { name: "Copy the prompt" }).waitFor();
  await page.getByRole("button", { name: "OK", exact: true }).click();
  await page.getByText(/^Not sent/).waitFor({ state: "detached" });
  assert.equal(
    await page.evaluate((name) => JSON.parse(localStorage.getItem(name)).what, `longshore.draft.prompt.${sessionId}`),
    "hail too late",
  );
  assert.deepEqual(page.complaints, []);
});

scene("a decision that came too late says why", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "write a note" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await page.getByRole("button", { name: "Allow once" }).waitFor();
  await page.context().setOffline(true);
  await page.getByText("Offline").waitFor();
  await page.getByRole("button", { name: "Allow once" }).click();
  await page.getByText(/Allow once: Will be sent/).waitFor();
  await hub.call("POST", `/approvals/${(await hub.ask(sessionId)).approval}`, { decision: "deny" });
  await page.context().setOffline(false);
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page
    .getByTitle(/denied by owner/)
    .first()
    .waitFor();
});

for (const agent of ["codex", "claude"]) {
  scene(
    `the hub is killed while ${agent} speaks, and everything seen before is there afterwards`,
    async ({ open, hub, stage }) => {
      const { sessionId } = await hub.open({ agent, prompt: "hail before the storm", mode: "full" });
      const path = `/sessions/${sessionId}`;
      const page = await open({ size: TALL, path });
      await page.getByText("Hail to you.").waitFor();
      await prompt(page).fill("speak endlessly");
      await page.getByRole("button", { name: "Send" }).click();
      await page
        .getByText(/Word 20\b/)
        .first()
        .waitFor();
      const seen = await timeline(page);
      await stage.killHub();
      await page.getByText("Offline").waitFor();
      assert.ok((await timeline(page)).includes("Word 20"), "what was seen stays on screen");
      await stage.startHub();
      await page.getByText("Offline").waitFor({ state: "detached" });
      await hub.rest(sessionId);
      await same(page, await open({ size: TALL, path }));
      const words = seen.match(/Word \d+/g).at(-1);
      assert.ok((await timeline(page)).includes(words), `${words} was seen and is in the log`);

      // It goes on where it was.
      await prompt(page).fill("hail after the storm");
      await page.getByRole("button", { name: /Send|Queue/ }).click();
      await until("the answer", async () => (await page.getByText("Hail to you.").count()) === 2);
      await hub.rest(sessionId);
      await same(page, await open({ size: TALL, path }));
      assert.deepEqual(page.complaints, []);
    },
  );
}
