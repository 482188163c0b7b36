// A session from the phone: start, watch, approve, deny, answer, queue, steer, stop; and the same from a desktop.
import assert from "node:assert/strict";
import { test } from "node:test";
import { client, DESKTOP, open, PHONE, until } from "./browser.mjs";
import { given, scripted, stage } from "./given.mjs";

for (const [name, size] of [["phone", PHONE], ["desktop", DESKTOP]]) {
  test(`a session is started and watched on a ${name}`, scripted, async () => {
    const page = await open(given.browser, stage, { size, path: "/new" });
    await page.getByRole("radio", { name: /Codex/ }).first().click();
    await page.getByLabel("Folder").fill(stage.shop);
    await page.getByLabel("First words").fill(`hail from the ${name}`);
    await page.getByRole("button", { name: /^Start/ }).click();
    await page.getByText("Hail to you.").first().waitFor();
    await page.getByText(/^Done ·/).waitFor();
    // The next one, from the composer.
    await page.getByRole("textbox", { name: "Prompt", exact: true }).fill("hail again");
    await page.getByRole("button", { name: "Send" }).click();
    await until("the second answer", async () => (await page.getByText("Hail to you.").count()) >= 2);
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  });
}

test("an approval is answered from the inbox, and another device sees who did", scripted, async () => {
  const { sessionId } = await client(stage).open({ prompt: "write a note for the inbox" });
  const [one, two] = [await open(given.browser, stage), await open(given.browser, stage, { size: DESKTOP })];
  const card = (page) => page.locator("article", { hasText: "write a note for the inbox" });
  await card(one).getByText("From the script.").waitFor();
  await card(two).getByText("From the script.").waitFor();
  await card(one).getByRole("button", { name: "Allow once" }).click();
  await card(two).waitFor({ state: "detached" });
  await two.getByText(/allowed once by owner/).first().waitFor();
  await one.goto(`${stage.url}/sessions/${sessionId}/changes`);
  await one.getByText("note.md").first().waitFor();
  assert.deepEqual([one.complaints, two.complaints], [[], []]);
  await one.context().close();
  await two.context().close();
});

test("a command is denied with a message", scripted, async () => {
  const { sessionId } = await client(stage).open({ prompt: "release it" });
  const page = await open(given.browser, stage, { path: `/sessions/${sessionId}` });
  await page.getByText("git push --force").first().waitFor();
  await page.getByText("deletes").waitFor();
  await page.getByRole("button", { name: "Deny with a message" }).click();
  await page.getByLabel("Message to the agent").fill("not on a Friday");
  await page.getByRole("button", { name: "Deny with this" }).click();
  await page.getByText(/“not on a Friday”/).waitFor();
  await page.context().close();
});

test("a question is answered", scripted, async () => {
  const { sessionId } = await client(stage).open({ prompt: "which colour", mode: "plan" });
  const page = await open(given.browser, stage, { path: `/sessions/${sessionId}` });
  await page.getByRole("radio", { name: /Teal/ }).click();
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByText(/answered by owner/).waitFor();
  await page.context().close();
});

test("words are queued, rewritten and taken back; a turn is stopped", scripted, async () => {
  const { sessionId } = await client(stage).open({ prompt: "speak slowly", mode: "full" });
  const page = await open(given.browser, stage, { path: `/sessions/${sessionId}` });
  await page.getByText(/Word 3\b/).first().waitFor();
  for (const words of ["hail first", "hail second"]) {
    await page.getByRole("textbox", { name: "Prompt", exact: true }).fill(words);
    await page.getByRole("button", { name: "Queue" }).click();
    await page.getByLabel("Waiting prompts").getByText(words).waitFor();
  }
  await page.getByRole("button", { name: "Earlier" }).last().click();
  await until("the other order", async () => (await page.getByLabel("Waiting prompts").locator("li").first().textContent()).includes("second"));
  await page.getByRole("button", { name: "Take back" }).last().click();
  await until("one prompt", async () => (await page.getByLabel("Waiting prompts").locator("li").count()) === 1);
  await page.getByRole("button", { name: "Stop the turn" }).click();
  await page.getByText(/^Stopped ·/).first().waitFor();
  await page.getByText("Hail to you.").first().waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});
