// A session with each of the real agents, on a phone and on a desktop: start, see what it wants to change,
// approve, watch, stop, queue, steer, decline, answer.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, chooseAgent, prompt, until } from "./browser.mjs";
import { scene } from "./given.mjs";
import { PRICE } from "./scenes.mjs";

const AGENTS = { codex: /Codex/, claude: /Claude/ };

/** A word that has come while more is to come. */
const word = (page, at) =>
  page
    .getByText(new RegExp(`Word ${at}\\b`))
    .first()
    .waitFor();

for (const [agent, title] of Object.entries(AGENTS)) {
  for (const [where, size] of [
    ["phone", PHONE],
    ["desktop", DESKTOP],
  ]) {
    scene(`${agent} is started, approved, watched and stopped on a ${where}`, async ({ open, stage }) => {
      const file = join(stage.shop, `price-${agent}-${where}.py`);
      writeFileSync(file, `def gross(price, tax):\n${PRICE[0]}\n`);
      const page = await open({ size, path: "/new" });
      await chooseAgent(page, title);
      await page.getByRole("textbox", { name: "Folder" }).fill(stage.shop);
      await page.getByLabel("Prompt").fill(`mend the price, ${agent} on a ${where}`);
      await page.getByRole("button", { name: /^Start/ }).click();

      // What would change is seen before it is allowed.
      const asked = page.getByRole("group", { name: "Change this file?" });
      await asked.waitFor();
      for (const [line, sign] of [
        [PRICE[0], ".gone"],
        [PRICE[1], ".add"],
      ])
        await asked.locator(sign, { hasText: line.trim() }).first().waitFor();
      assert.ok(readFileSync(file, "utf8").includes(PRICE[0]), "nothing has changed yet");
      await asked.getByRole("button", { name: "Allow once" }).click();
      await page.getByText("The price is mended.").waitFor();
      await page.getByText(/^Done ·/).waitFor();
      assert.ok(readFileSync(file, "utf8").includes(PRICE[1]));

      // Words come one by one, and a turn is stopped. What waited is held, and said when it is sent on.
      await prompt(page).fill("speak endlessly");
      await page.getByRole("button", { name: "Send" }).click();
      await word(page, 3);
      await word(page, 12);
      await prompt(page).fill("hail after that");
      await page.getByRole("button", { name: "Queue" }).click();
      await page.getByLabel("Queued prompts").getByText("hail after that").waitFor();
      await page.getByRole("button", { name: "Stop the turn" }).click();
      await page.getByText(/^Interrupted ·/).waitFor();
      await page.getByRole("button", { name: "Send next" }).click();
      await page.getByText("Hail to you.").waitFor();

      // The change of the whole session.
      await page.getByRole("link", { name: "Changed files" }).click();
      await page.getByRole("heading", { name: "Changed files" }).waitFor();
      await page.locator(".gone", { hasText: PRICE[0].trim() }).first().waitFor();
      await page.locator(".add", { hasText: PRICE[1].trim() }).first().waitFor();
      assert.deepEqual(page.complaints, []);
    });
  }

  scene(`${agent} is steered in the middle of a turn`, async ({ open, hub, stage }) => {
    const { sessionId } = await hub.open({ agent, prompt: `hold, ${agent}`, mode: "full" });
    const page = await open({ path: `/sessions/${sessionId}` });
    await page.getByText(/gate-/).first().waitFor();
    await prompt(page).fill(`hold, ${agent}, to port`);
    await page.getByRole("button", { name: "Steer" }).click();
    await page.locator(".said", { hasText: "to port" }).first().waitFor();
    writeFileSync(join(stage.shop, `gate-${agent}`), "");
    await page.getByText("Held, and turned.").waitFor();
    await page.getByText(/^Done ·/).waitFor();
    const { items } = await hub.call("GET", `/sessions/${sessionId}/timeline`);
    const at = (kind, text) => items.findIndex((item) => item.kind === kind && (!text || item.text?.includes(text)));
    assert.ok(
      at("user_message", "to port") > 0 && at("user_message", "to port") < at("turn_end"),
      "said into the turn",
    );
    assert.equal(items.filter((item) => item.kind === "turn_end").length, 1, "one turn");
    assert.deepEqual(page.complaints, []);
  });

  scene(`${agent} is denied a command, with a message`, async ({ open, hub, stage }) => {
    writeFileSync(join(stage.shop, "build"), "");
    const { sessionId } = await hub.open({ agent, prompt: `sweep, ${agent}` });
    const page = await open({ path: `/sessions/${sessionId}` });
    await page.getByText("rm -rf build").first().waitFor();
    await page.getByText("deletes").waitFor();
    await page.getByRole("button", { name: "Deny with a message" }).click();
    await page.getByLabel("Message to the agent").fill("not on a Friday");
    await page.getByRole("button", { name: "Deny and send" }).click();
    await page.getByText(/“not on a Friday”/).waitFor();
    await hub.rest(sessionId);
    assert.ok(existsSync(join(stage.shop, "build")), "it was not run");
    assert.deepEqual(page.complaints, []);
  });

  scene(`${agent} asks, and is answered`, async ({ open, hub }) => {
    const { sessionId } = await hub.open({ agent, prompt: `which colour, ${agent}`, mode: "plan" });
    const page = await open({ path: `/sessions/${sessionId}` });
    await page.getByRole("radio", { name: /Teal/ }).click();
    await page.getByRole("button", { name: "Answer" }).click();
    await page.getByText(/answered by owner/).waitFor();
    await page.getByText("So be it.").waitFor();
    assert.deepEqual(page.complaints, []);
  });
}

scene("an approval is answered from the inbox, and another device sees who did", async ({ open, hub, stage }) => {
  const { sessionId } = await hub.open({ prompt: "write a note for the inbox" });
  const [one, two] = [await open(), await open({ size: DESKTOP })];
  const card = (page) => page.locator("article", { hasText: "write a note for the inbox" });
  await card(one).getByText("From the script.").waitFor();
  await card(two).getByText("From the script.").waitFor();
  await card(one).getByRole("button", { name: "Allow once" }).click();
  await card(two).waitFor({ state: "detached" });
  await two
    .getByText(/allowed once by owner/)
    .first()
    .waitFor();
  await one.goto(`${stage.url}/sessions/${sessionId}/changes`);
  await one.getByText("note.md").first().waitFor();
  assert.deepEqual([one.complaints, two.complaints], [[], []]);
});

scene("words that wait are put in another order and taken back", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "speak endlessly", mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await word(page, 3);
  const waiting = page.getByLabel("Queued prompts");
  for (const words of ["hail first", "hail second"]) {
    await prompt(page).fill(words);
    await page.getByRole("button", { name: "Queue" }).click();
    await waiting.getByText(words).waitFor();
  }
  await page.getByRole("button", { name: "Move up" }).last().click();
  await until("the other order", async () => (await waiting.locator("li").first().textContent()).includes("second"));
  await page.getByRole("button", { name: "Remove" }).last().click();
  await until("one prompt", async () => (await waiting.locator("li").count()) === 1);
  await page.getByRole("button", { name: "Stop the turn" }).click();
  await page.getByRole("button", { name: "Send next" }).click();
  await page.getByText("Hail to you.").waitFor();
  assert.deepEqual(page.complaints, []);
});

scene("an agent is asked for its models when they are wanted, and given another one", async ({ open, hub }) => {
  const page = await open({ path: "/new" });
  await chooseAgent(page, AGENTS.codex);
  const models = page.getByLabel("Model").locator("option");
  await until("the agent has told its models", async () => (await models.count()) > 1);
  const { sessionId, model } = await hub.open({ agent: "codex" });
  await page.goto(new URL(`/sessions/${sessionId}`, page.url()).href);
  await page.getByRole("button", { name: "Model" }).or(page.locator("button.pick.one-line")).click();
  const other = page.getByRole("radiogroup", { name: "Model" }).getByRole("radio", { checked: false }).first();
  const name = await other.locator("b").innerText();
  await other.click();
  await page.locator(".pick", { hasText: name }).waitFor();
  await until("the session has it", async () => (await hub.call("GET", `/sessions/${sessionId}`)).model !== model);
  assert.deepEqual(page.complaints, []);
});
