// Texts that an agent controls do nothing but show, a watcher has no live buttons,
// and whoever is not known stays outside.
import assert from "node:assert/strict";
import { DESKTOP, PHONE, quiet, until, withCommands } from "./browser.mjs";
import { scene } from "./given.mjs";
import { NASTY, NASTY_NAME, nasty } from "./scenes.mjs";

/** Everything is unfolded; nothing of it became more than text. */
async function harmless(page, path) {
  await page.getByText("onerror").locator("visible=true").first().waitFor();
  await page.evaluate(() => document.querySelectorAll("main [aria-expanded=false]").forEach((fold) => fold.click()));
  await quiet(page);
  const found = await page.evaluate(() => ({
    pwned: window.pwned,
    handlers: [...document.querySelectorAll("*")].filter((one) =>
      [...one.attributes].some((attribute) => attribute.name.startsWith("on")),
    ).length,
    // Ours have an address of ours.
    made: document.querySelectorAll("iframe, object, embed, script:not([src^='/']), img:not([src^='/'])").length,
    links: [...document.querySelectorAll("a[href]")]
      .map((one) => one.getAttribute("href"))
      .filter((address) => !/^(\/|#content$|https?:|mailto:)/.test(address)),
  }));
  assert.deepEqual(found, { pwned: undefined, handlers: 0, made: 0, links: [] }, path);
  assert.deepEqual(page.complaints, [], path);
}

scene("what an agent has written is never more than text", async ({ open, hub, stage }) => {
  // Sessions of other scenes that still do something would push it off the first screen of the list.
  await until("the others to rest", async () =>
    (await hub.call("GET", "/sessions")).sessions.every(
      ({ activity }) => activity !== "working" && activity !== "starting",
    ),
  );
  const session = await hub.take(nasty(stage.work));
  for (const size of [PHONE, DESKTOP]) {
    const page = await open({ size, path: "/machines" });
    await withCommands(page, [{ name: NASTY_NAME, description: NASTY }]);
    for (const path of ["/sessions", `/sessions/${session}`, `/sessions/${session}/changes`, "/usage"]) {
      await page.goto(`${stage.url}${path}`);
      if (path !== "/usage") await harmless(page, path);
    }
    await page.goto(`${stage.url}/sessions/${session}`);
    await page.getByRole("textbox", { name: "Prompt", exact: true }).fill("/");
    await page.getByLabel("Commands").getByText("onerror").first().waitFor();
    await harmless(page, "commands");
    await page.getByRole("button", { name: "More", exact: true }).click();
    await harmless(page, "menu");
    await page.goto(`${stage.url}/sessions`);
    await page.getByLabel("Search everything").fill("onerror");
    await page.getByRole("region", { name: "Found" }).getByText("onerror").first().waitFor();
    await harmless(page, "search");
  }
});

scene("what an agent asks is never more than text", async ({ open, hub }) => {
  const asks = [];
  for (const [what, mode] of [
    ["command", "ask"],
    ["file", "ask"],
    ["question", "plan"],
  ])
    asks.push((await hub.open({ prompt: `be nasty with a ${what}`, mode })).sessionId);
  await until("three asks", async () => {
    const { approvals, questions } = await hub.call("GET", "/approvals");
    return asks.every((session) => [...approvals, ...questions].some((one) => one.session === session));
  });
  for (const [size, path] of [[PHONE, "/"], [DESKTOP, "/"], ...asks.map((session) => [PHONE, `/sessions/${session}`])])
    await harmless(await open({ size, path }), path);
  for (const session of asks) await hub.stop(session);
});

for (const [mode, decides] of [
  ["read_only", false],
  ["approve", true],
]) {
  scene(`a device that is ${mode} has no live buttons but its own`, async ({ open, hub }) => {
    const { sessionId } = await hub.open({ prompt: "write a note" });
    const page = await open({
      size: DESKTOP,
      path: `/sessions/${sessionId}`,
      token: await hub.paired(mode, `the one that is ${mode}`),
    });
    await page.getByText(/This device can only watch/).waitFor();
    await page.getByText("From the script.").first().waitFor();
    if (decides) await page.getByRole("button", { name: "Allow once" }).waitFor();
    else assert.equal(await page.getByRole("button", { name: "Allow once" }).count(), 0);
    assert.equal(await page.getByRole("textbox", { name: "Prompt", exact: true }).count(), 0);
    assert.equal(await page.getByRole("link", { name: "New", exact: true }).count(), 0);
    await page.getByRole("button", { name: "More", exact: true }).click();
    const menu = page.getByRole("dialog");
    await menu.getByRole("button", { name: "Export" }).waitFor();
    for (const word of ["Rename", "Archive", "Fork", "End session", "Delete"])
      assert.equal(await menu.getByRole("button", { name: word }).count(), 0, word);
    if (decides) {
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Deny", exact: true }).click();
      await page.getByTitle(`denied by the one that is ${mode}`).first().waitFor();
    }
    assert.deepEqual(page.complaints, []);
  });
}

scene("a device counts what it may answer, and cannot write where it may not", async ({ open, hub, stage }) => {
  const asks = (await hub.open({ prompt: "which colour for a watcher", mode: "plan" })).sessionId;
  const wants = (await hub.open({ prompt: "write a note for a watcher" })).sessionId;
  await hub.ask(wants);
  await until("the question", async () =>
    (await hub.call("GET", "/approvals")).questions.some((one) => one.session === asks),
  );
  for (const mode of ["read_only", "approve"]) {
    const page = await open({ path: "/machines" });
    // As the hub tells a device of that mode.
    await page.route(/\/api\/v1\/me$/, (route) => route.fulfill({ json: { role: "device", mode } }));
    await page.goto(`${stage.url}/`);
    const question = page.locator("article", { hasText: "which colour for a watcher" });
    await question.getByText("This device can't answer.").waitFor();
    for (const field of await question.locator("button.choice, input, textarea").all())
      assert.ok(await field.isDisabled(), `${mode}: ${await field.evaluate((one) => one.outerHTML)}`);
    const count = page.getByRole("navigation", { name: "Main" }).locator(".count");
    if (mode === "read_only") {
      await page.getByText(/^\d+ waiting for another device$/).waitFor();
      assert.equal(await count.count(), 0, "a number on the tab");
      assert.equal(await page.title(), "Longshore");
    } else {
      await page.getByText(/^\d+ waiting for you · \d+ waiting for another device$/).waitFor();
      await until(
        "approvals alone are counted",
        async () => Number(await count.textContent()) === (await hub.call("GET", "/approvals")).approvals.length,
      );
    }
    // A form that could not be sent is not shown, however one came there.
    await page.goto(`${stage.url}/new`);
    await page
      .getByText(
        mode === "approve" ? "This device can only watch. It can answer approvals." : "This device can only watch.",
        { exact: true },
      )
      .waitFor();
    assert.equal(await page.locator("form, textarea").count(), 0);
    assert.deepEqual(page.complaints, []);
  }
  for (const session of [asks, wants]) await hub.stop(session);
});

scene(
  "whoever is not known is asked for a code",
  async ({ open, stage }) => {
    const page = await open({ signedIn: false, path: "/sessions" });
    await page.getByLabel("Pairing code").waitFor();
    await page.getByRole("button", { name: "Use the owner token" }).click();
    await page.getByLabel("Owner token").fill("wrong");
    await page.getByRole("button", { name: "Enter" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Owner token").fill(stage.token);
    await page.getByRole("button", { name: "Enter" }).click();
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    assert.ok(!page.url().includes(stage.token));
  },
  { anywhere: true },
);

scene(
  "a device is paired by its link, watches, and is out when it is revoked",
  async ({ open, hub, stage }) => {
    const { code } = await hub.admin("POST", "/admin/pair/new", { mode: "read_only" });
    const page = await open({ signedIn: false, path: `/pair#${code}` });
    await page.getByLabel("Name of this device").fill("Wall");
    await page.getByRole("button", { name: "Pair" }).click();
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    await page.goto(`${stage.url}/machines`);
    await page.getByText(/This device: Wall · watch only/).waitFor();
    assert.equal(await page.getByRole("button", { name: "Pair a device" }).count(), 0);
    const { devices } = await hub.call("GET", "/devices");
    await hub.call("DELETE", `/devices/${devices.find((one) => one.label === "Wall" && !one.revokedAt).id}`);
    await page.getByLabel("Pairing code").waitFor();
    assert.deepEqual(page.complaints, []);
  },
  { anywhere: true },
);

scene(
  "a link of the hub's own computer signs in without a form, once, and a browser that is in stays who it is",
  async ({ open, hub, stage }) => {
    const count = async () => (await hub.call("GET", "/devices")).devices.length;
    const before = await count();
    const first = await hub.admin("POST", "/admin/pair/new", { mode: "full", label: "browser here" });
    const page = await open({ signedIn: false, path: `/pair?enter#${first.code}` });
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    assert.ok(!page.url().includes(first.code));
    assert.equal(await count(), before + 1);
    const second = await hub.admin("POST", "/admin/pair/new", { mode: "full" });
    await page.goto(`${stage.url}/pair?enter#${second.code}`);
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    assert.equal(await count(), before + 1);
    const late = await open({ signedIn: false, path: `/pair?enter#${first.code}` });
    await late.getByLabel("Pairing code").waitFor();
  },
  { anywhere: true },
);
