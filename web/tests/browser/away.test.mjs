// The lid is closed, the tunnel is long: what a page shows afterwards is what a page shows that never left.
import assert from "node:assert/strict";
import { test } from "node:test";
import { client, open, until } from "./browser.mjs";
import { given, scripted, stage } from "./given.mjs";

/** The end of the timeline. Only a page that is in front draws as it does for a person. */
async function words(page) {
  await page.bringToFront();
  return (await page.locator(".place").allInnerTexts()).slice(-4);
}

test("a page that was offline in the middle of a turn shows the same as one that was not", scripted, async () => {
  const hub = client(stage);
  const { sessionId } = await hub.open({ prompt: "speak slowly", mode: "full" });
  const path = `/sessions/${sessionId}`;
  const [stays, leaves] = [await open(given.browser, stage, { path }), await open(given.browser, stage, { path })];
  await leaves.getByText(/Word 9\b/).first().waitFor();
  await leaves.context().setOffline(true);
  await leaves.getByText("Not connected").waitFor();
  // A tap without a network is kept, and says so.
  await leaves.getByRole("textbox", { name: "Prompt", exact: true }).fill("hail from the tunnel");
  await leaves.getByRole("button", { name: /Queue|Send/ }).click();
  await leaves.getByText(/is kept and sent when the hub is back/).waitFor();
  await until("more words", async () => /Word 90\b/.test((await words(stays)).join(" ")));
  await leaves.context().setOffline(false);
  await leaves.evaluate(() => dispatchEvent(new Event("online")));
  await leaves.getByText(/Caught up \d+ events/).waitFor();
  await leaves.getByText("Hail to you.").first().waitFor();
  await until("the end", async () => (await hub.session(sessionId)).status !== "active");
  await until("the same words", async () => JSON.stringify(await words(stays)) === JSON.stringify(await words(leaves)));
  const { items } = await hub.call("GET", `/sessions/${sessionId}/timeline`);
  assert.equal(items.filter((item) => item.text === "hail from the tunnel").length, 1, "the prompt was sent once");
  assert.deepEqual(leaves.complaints, []);
  for (const page of [stays, leaves]) await page.context().close();
});

test("a decision that came too late says why", scripted, async () => {
  const hub = client(stage);
  const { sessionId } = await hub.open({ prompt: "write a note" });
  const page = await open(given.browser, stage, { path: `/sessions/${sessionId}` });
  await page.getByRole("button", { name: "Allow once" }).waitFor();
  await page.context().setOffline(true);
  await page.getByText("Not connected").waitFor();
  await page.getByRole("button", { name: "Allow once" }).click();
  await page.getByText(/“Allow once” is kept/).waitFor();
  const { approvals } = await hub.call("GET", "/approvals");
  await hub.call("POST", `/approvals/${approvals.find((one) => one.session === sessionId).approval}`, { decision: "deny" });
  await page.context().setOffline(false);
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page.getByText(/denied by owner/).first().waitFor();
  await page.context().close();
});
