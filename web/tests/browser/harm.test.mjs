// Texts that an agent controls do nothing but show, a watcher has no live buttons, and the page keeps to its policy.
import assert from "node:assert/strict";
import { test } from "node:test";
import { client, DESKTOP, open, PHONE } from "./browser.mjs";
import { given, scripted, stage } from "./given.mjs";
import { nasty } from "./scenes.mjs";

test("what an agent writes is never more than text", scripted, async () => {
  const session = await client(stage).take(nasty(stage.work));
  for (const size of [PHONE, DESKTOP]) {
    for (const path of ["/sessions", `/sessions/${session}`, `/sessions/${session}/changes`]) {
      const page = await open(given.browser, stage, { size, path });
      await page.getByText("onerror").locator("visible=true").first().waitFor();
      await page.evaluate(() => document.querySelectorAll("main [aria-expanded=false]").forEach((fold) => fold.click()));
      await page.waitForTimeout(300);
      const found = await page.evaluate(() => ({
        pwned: window.pwned,
        handlers: [...document.querySelectorAll("*")].filter((one) => [...one.attributes].some((attribute) => attribute.name.startsWith("on"))).length,
        links: [...document.querySelectorAll("a[href], img[src], script[src], iframe")].map((one) => one.getAttribute("href") ?? one.getAttribute("src") ?? "iframe").filter((address) => !/^(\/|https?:|mailto:)/.test(address)),
      }));
      assert.deepEqual(found, { pwned: undefined, handlers: 0, links: [] }, path);
      assert.deepEqual(page.complaints, []);
      await page.context().close();
    }
  }
});

for (const [mode, decides] of [["read_only", false], ["approve", true]]) {
  test(`a device that is ${mode} has no live buttons but its own`, scripted, async () => {
    const { sessionId } = await client(stage).open({ prompt: "write a note" });
    const page = await open(given.browser, stage, { size: DESKTOP, path: "/health" });
    await page.route("**/api/v1/me", (route) => route.fulfill({ json: { role: "device", mode, device: { id: "d", label: "Wall", mode } } }));
    await page.goto(`${stage.url}/sessions/${sessionId}?token=${stage.token}`);
    await page.getByText(/This device may only watch/).waitFor();
    await page.getByText("From the script.").first().waitFor();
    assert.equal(await page.getByRole("button", { name: "Allow once" }).count(), decides ? 1 : 0);
    assert.equal(await page.getByRole("textbox", { name: "Prompt", exact: true }).count(), 0);
    assert.equal(await page.getByRole("link", { name: "New" }).count(), 0);
    await page.getByRole("button", { name: "More", exact: true }).click();
    for (const word of ["Rename", "Archive", "Fork", "Close for good"]) assert.equal(await page.getByRole("button", { name: word }).count(), 0, word);
    await page.context().close();
  });
}

test("whoever is not known is asked for a code", async () => {
  const page = await open(given.browser, stage, { signedIn: false, path: "/sessions" });
  await page.getByLabel("Pairing code").waitFor();
  await page.getByRole("button", { name: "Use the owner token" }).click();
  await page.getByLabel("Owner token").fill("wrong");
  await page.getByRole("button", { name: "Enter" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Owner token").fill(stage.token);
  await page.getByRole("button", { name: "Enter" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  assert.ok(!page.url().includes(stage.token));
  await page.context().close();
});

test("a device is paired by its link, watches, and is out when it is revoked", async (t) => {
  const admin = (method, path, body) => fetch(`${stage.url}${path}`, { method, headers: { authorization: `Bearer ${stage.token}`, "content-type": "application/json" }, body: body && JSON.stringify(body) });
  const made = await admin("POST", "/admin/pair/new", { mode: "read_only" });
  if (made.status === 404) return t.skip("this hub pairs no devices");
  const { code } = await made.json();
  const page = await open(given.browser, stage, { signedIn: false, path: `/pair#${code}` });
  await page.getByLabel("Name of this device").fill("Wall");
  await page.getByRole("button", { name: "Pair" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  await page.goto(`${stage.url}/machines`);
  await page.getByText(/you may watch only/).waitFor();
  assert.equal(await page.getByRole("button", { name: "Pair a device" }).count(), 0);
  const { devices } = await (await admin("GET", "/api/v1/devices")).json();
  await admin("DELETE", `/api/v1/devices/${devices.find((one) => one.label === "Wall" && !one.revokedAt).id}`);
  await page.getByLabel("Pairing code").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});
