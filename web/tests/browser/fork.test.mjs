// Copies of conversations that go their own way.
import assert from "node:assert/strict";
import { prompt, until } from "./browser.mjs";
import { scene } from "./given.mjs";

// Of the two, one remembers by the log, and one is told what was said.
for (const agent of ["react", "codex"])
  scene(`a conversation with ${agent} is forked from a message`, async ({ open, hub }) => {
    const { sessionId } = await hub.open({ agent, prompt: "hail once", mode: "full" });
    await hub.rest(sessionId);
    await hub.call("POST", `/sessions/${sessionId}/prompts`, { content: "hail twice" });
    const page = await open({ path: `/sessions/${sessionId}` });
    await until("two answers", async () => (await page.getByText("Hail to you.").count()) === 2);
    const more = page.getByRole("button", { name: "What to do with this message" });
    await more.first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Copy" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Edit and fork" }).count(), 0, "not before the first words");
    await page.keyboard.press("Escape");
    await more.last().click();
    await page.getByRole("button", { name: "Edit and fork" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(sessionId));
    await page.getByText("hail once").first().waitFor();
    await until("the words to be said otherwise", async () => (await prompt(page).inputValue()) === "hail twice");
    await until("the first answer alone", async () => (await page.getByText("Hail to you.").count()) === 1);
    await page.getByRole("button", { name: "Send" }).click();
    await until("another answer", async () => (await page.getByText("Hail to you.").count()) === 2);
    assert.deepEqual(page.complaints, []);
  });

scene("a conversation is forked as a whole", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "hail once", mode: "full" });
  await hub.rest(sessionId);
  await hub.call("POST", `/sessions/${sessionId}/prompts`, { content: "hail twice" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await until("two answers", async () => (await page.getByText("Hail to you.").count()) === 2);
  await hub.rest(sessionId);
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("button", { name: "Fork into a new session" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(sessionId));
  await until("what was said", async () => (await page.getByText("Hail to you.").count()) === 2);
  assert.deepEqual(page.complaints, []);
});
