// What is read in a session, on a phone above all: who allowed what, words on the
// way, both directions, what readers hear.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, until } from "./browser.mjs";
import { scene } from "./given.mjs";
import { allowed, ARABIC, varied } from "./scenes.mjs";

const directionOf = (words) => words.first().evaluate((one) => getComputedStyle(one).direction);

scene("on a phone one reads who allowed a call, and copies words on the way", async ({ open, hub, stage }) => {
  const session = await hub.take(allowed(`${stage.work}/allowed`));
  const page = await open({ path: `/sessions/${session}`, permissions: ["clipboard-read", "clipboard-write"] });
  await page.getByText("The cart is made.").waitFor();
  for (const call of ["make cart", "cart.py"]) {
    const fold = page.locator(".place", { has: page.locator(".fold", { hasText: call }) }).first();
    await fold.locator("button.head").click();
    await fold
      .getByText(/allowed once by Pixel 9.*, \d/)
      .locator("visible=true")
      .waitFor();
  }
  const said = (words) => page.locator("article.message", { hasText: words });
  await said("I look at the cart first.").getByRole("button", { name: "Copy message" }).click();
  await until("the words on the way", async () =>
    (await page.evaluate(() => navigator.clipboard.readText())).startsWith("I look at the cart first."),
  );
  // What can be done with the answer is below the turn, once.
  assert.equal(
    await said("The cart is made.").getByRole("button", { name: "Copy message" }).locator("visible=true").count(),
    0,
  );
  assert.deepEqual(page.complaints, []);
});

scene("words of a turn that runs are copied on a phone", async ({ open, hub, stage }) => {
  const { sessionId } = await hub.open({ agent: "claude", prompt: "talk and hold", mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}`, permissions: ["clipboard-read", "clipboard-write"] });
  const first = page.locator("article.message", { hasText: "I look around first." });
  await first.getByRole("button", { name: "Copy message" }).click();
  await until(
    "the words",
    async () => (await page.evaluate(() => navigator.clipboard.readText())) === "I look around first.",
  );
  writeFileSync(join(stage.shop, "gate-talk"), "");
  await page.getByText("Nothing was found.").waitFor();
  await page.getByText(/^Done ·/).waitFor();
  assert.deepEqual(page.complaints, []);
});

scene("whatever is written from right to left is laid out so", async ({ open, hub, stage }) => {
  const session = await hub.take(allowed(`${stage.work}/direction`));
  const page = await open({ path: `/sessions/${session}` });
  await page.getByText("The cart is made.").waitFor();
  const places = {
    title: "h1",
    quotation: ".prose blockquote",
    list: ".prose ul",
    prompt: ".said .text",
    gist: ".fold .line .faint",
  };
  for (const [name, place] of Object.entries(places))
    assert.equal(await directionOf(page.locator(place, { hasText: ARABIC })), "rtl", name);
  await page.getByRole("button", { name: "More", exact: true }).click();
  assert.equal(await directionOf(page.getByRole("dialog").getByRole("heading", { name: ARABIC })), "rtl", "menu");
  await page.goto(`${stage.url}/sessions`);
  assert.equal(await directionOf(page.locator("[data-row] b", { hasText: ARABIC })), "rtl", "row");
  assert.deepEqual(page.complaints, []);
});

scene("readers hear that a turn has ended, and of no other session", async ({ open, hub, stage }) => {
  const rests = await hub.take(varied(`${stage.work}/rests`));
  const { sessionId } = await hub.open({ prompt: "speak endlessly", mode: "full", title: "One that speaks" });
  const page = await open({ size: DESKTOP, path: `/sessions/${sessionId}` });
  await page
    .getByText(/Word 3\b/)
    .first()
    .waitFor();
  await page.evaluate(() => {
    window.heard = [];
    new MutationObserver(() =>
      document.querySelectorAll("[role=status].seen-by-readers").forEach((one) => window.heard.push(one.textContent)),
    ).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  const heard = () => page.evaluate(() => window.heard.filter((words) => /^Turn /.test(words)));
  // By a link within the page: where its row stands depends on what other scenes have left.
  await page.evaluate((path) => {
    const link = document.createElement("a");
    link.href = path;
    document.querySelector("main").append(link);
    link.click();
    link.remove();
  }, `/sessions/${rests}`);
  await page.getByText("The answer of the second turn.").waitFor();
  assert.deepEqual(await heard(), []);
  await page.goBack();
  await page.getByRole("button", { name: "Stop the turn" }).click();
  await until("it is said", async () => (await heard()).includes("Turn interrupted"));
  assert.deepEqual(page.complaints, []);
});

scene("whoever waits for a service that asks for patience sees how long, and stops it", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ agent: "react", prompt: "be told to wait", mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}` });
  const line = page.getByText(/^Rate limited\. Next try in \d+ s \(1 of \d+\)\.$/);
  await line.waitFor();
  const left = async () => Number(/in (\d+) s/.exec(await line.textContent())[1]);
  const first = await left();
  await until("it counts down", async () => (await left()) < first);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText(/^Interrupted ·/).waitFor();
  await page.getByText(/^Rate limited\. Tried again 1 of \d+ times\.$/).waitFor();
  assert.deepEqual(page.complaints, []);
});
