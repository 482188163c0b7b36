// A session of 50,000 events opens at its end, scrolls back by pages, and never has more than a screenful in the page.
import assert from "node:assert/strict";
import { prompt, until } from "./browser.mjs";
import { scene } from "./given.mjs";
import { long } from "./scenes.mjs";

scene("a long session is a short page", async ({ open, hub, stage, note }) => {
  const events = long(stage.shop, Number(process.env.LARGE ?? 50_000));
  const session = await hub.take(events);
  const last = events.findLast((event) => event.type === "message_done").text.split("\n")[0];
  const page = await open({ path: "/sessions" });
  await page.getByText("A session of").first().waitFor();
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  await cdp.send("Performance.enable");
  const figures = async () =>
    Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((one) => [one.name, one.value]));
  const before = await figures();
  const begun = Date.now();
  await page.getByText("A session of").first().click();
  await page.getByText(last).waitFor();
  const [after, waited] = [await figures(), Date.now() - begun];
  const spent = Math.round((after.TaskDuration - before.TaskDuration) * 1000);
  note(`opened in ${waited} ms, ${spent} ms of the main thread at a quarter of the speed`);
  const nodes = () => page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok((await nodes()) < 2_500, `${await nodes()} nodes`);
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 1 });

  // Back by pages: each makes the list longer, and what was on screen stays where it is.
  const rows = page.locator(".rows");
  const height = () => rows.evaluate((list) => list.scrollHeight);
  await until("the whole of the first page", async () => (await height()) > 2_500);
  for (let round = 0; round < 4; round++) {
    const before = await height();
    // In one go, so that nothing comes between looking and scrolling.
    await until("an older page", () =>
      rows.evaluate((list, before) => list.scrollHeight > before + 1_000 || void list.scrollTo(0, 0), before),
    );
    await until("the reader where the reader was", () =>
      rows.evaluate((list) => list.scrollTop > 500 && list.scrollHeight - list.scrollTop - list.clientHeight > 1_000),
    );
  }
  assert.ok((await nodes()) < 2_500, `${await nodes()} nodes after scrolling`);
  await page.getByRole("button", { name: /^Latest/ }).click();
  await page.getByText(last).waitFor();
  note(`${await nodes()} nodes, ${Math.round((await figures()).JSHeapUsedSize / 1_000_000)} MB of heap`);
  assert.deepEqual(page.complaints, []);
});

scene("whoever reads further up is left there while words come", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ mode: "full" });
  const page = await open({ size: { width: 390, height: 420 }, path: `/sessions/${sessionId}` });
  await prompt(page).fill("speak endlessly");
  await page.getByRole("button", { name: "Send" }).click();
  const rows = page.locator(".rows");
  const below = () => rows.evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight);
  await until("more than a screen", () => rows.evaluate((list) => list.scrollHeight > list.clientHeight + 200));
  await until("the end is followed", async () => (await below()) < 60);
  await rows.evaluate((list) => list.scrollTo(0, 0));
  await page.getByRole("button", { name: /^Latest/ }).waitFor();
  const then = await below();
  await until("more words", async () => (await below()) > then + 60);
  assert.equal(await rows.evaluate((list) => list.scrollTop), 0);
  await page.getByRole("button", { name: /^Latest/ }).click();
  await until("the end is followed again", async () => (await below()) < 60);
  await hub.stop(sessionId);
  await hub.rest(sessionId);
  assert.deepEqual(page.complaints, []);
});
