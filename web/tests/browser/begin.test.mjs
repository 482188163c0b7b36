// A session is begun: what is needed for it is on the first screen, however many
// agents there are. What is known of these.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chooseAgent, DESKTOP, PHONE, until, withAgents } from "./browser.mjs";
import { scene } from "./given.mjs";

/** As many agents as somebody has who tries them all, of which some can't work yet. */
const many = (agents) => {
  const codex = agents.find((one) => one.name === "codex");
  const like = (name, more) => ({
    ...codex,
    models: [{ id: "one", title: "One" }],
    name,
    title: `Agent ${name}`,
    ...more,
  });
  return [
    like("absent", { path: null, version: null, install: "npm install -g absent" }),
    like("locked", { loggedIn: false, login: "locked login" }),
    ...Array.from({ length: 10 }, (_, at) => like(`ready-${at}`)),
    ...agents,
  ];
};

scene(
  "on a phone a prompt, its agent and its folder are on the first screen of a new session",
  async ({ open, stage }) => {
    const page = await open({ path: "/machines" });
    await withAgents(page, many);
    await page.goto(`${stage.url}/new`);
    const agent = page.getByRole("button", { name: /^Agent: / });
    await agent.waitFor();
    const start = (await page.getByRole("button", { name: /^Start/ }).boundingBox()).y;
    for (const [what, part] of [
      ["prompt", page.getByLabel("Prompt")],
      ["agent", agent],
      ["model", page.getByLabel("Model")],
      ["folder", page.getByRole("textbox", { name: "Folder" })],
      ["permissions", page.getByRole("radiogroup", { name: "Permissions" })],
    ]) {
      const box = await part.boundingBox();
      assert.ok(
        box.y >= 0 && box.y + box.height <= start,
        `${what} is on the first screen: ${JSON.stringify(box)}, above ${start} of ${PHONE.height}`,
      );
    }
    assert.deepEqual(page.complaints, []);
  },
);

scene("agents that can't work yet come last, look so and say why", async ({ open, stage }) => {
  const page = await open({ size: DESKTOP, path: "/machines" });
  await withAgents(page, many);
  await page.goto(`${stage.url}/new`);
  // Nobody begins with one that can't work, unless it is chosen.
  await page.getByRole("button", { name: "Agent: Agent ready-0" }).click();
  const sheet = page.getByRole("dialog", { name: "Agent" });
  const words = await sheet.innerText();
  const order = [
    "Agent ready-9",
    "Not logged in",
    "Agent locked",
    "locked login",
    "Not installed",
    "Agent absent",
    "npm install -g absent",
  ].map((one) => words.indexOf(one));
  assert.ok(
    order.every((at, place) => at > (order[place - 1] ?? 0)),
    `in this order: ${words}`,
  );
  const colour = (name) =>
    sheet
      .locator(".option", { hasText: name })
      .locator("b")
      .evaluate((one) => getComputedStyle(one).color);
  assert.notEqual(await colour("Agent locked"), await colour("Agent ready-9"));
  assert.equal(await sheet.getByRole("radio", { name: /absent/ }).count(), 0, "what isn't there can't be chosen");
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  await chooseAgent(page, /Agent locked/);
  await page.getByText(/Nobody is logged in to Agent locked: run locked login/).waitFor();
  assert.deepEqual(page.complaints, []);
});

scene("whoever has a keyboard writes at once, and starts with it", async ({ open, stage }) => {
  const page = await open({ size: DESKTOP, path: "/new?agent=codex" });
  const prompt = page.getByLabel("Prompt");
  await until("the cursor", () => prompt.evaluate((area) => area === document.activeElement));
  await page.getByRole("textbox", { name: "Folder" }).fill(stage.shop);
  await prompt.fill("hail by key");
  await prompt.press("Control+Enter");
  await page.waitForURL(/\/sessions\/[^/]+$/);
  await page.getByText("Hail to you.").waitFor();
  assert.deepEqual(page.complaints, []);
});

scene(
  "a folder is written from the home of its machine, and one that isn't there leads nobody into a dead end",
  async ({ open, hub, stage }) => {
    mkdirSync(join(stage.folder, "home/boats"), { recursive: true });
    const page = await open({ path: "/new?agent=codex" });
    await page.getByRole("textbox", { name: "Folder" }).fill("/nowhere/at/all");
    await page.getByRole("button", { name: "Browse" }).click();
    const sheet = page.getByRole("dialog", { name: "Choose a folder" });
    await sheet
      .getByRole("alert")
      .getByText(/nowhere/)
      .waitFor();
    await sheet.getByRole("button", { name: "boats" }).click();
    await sheet.getByText("No folders in here.").waitFor();
    assert.equal(await sheet.getByRole("alert").count(), 0, "that one is there");
    await page.keyboard.press("Escape");
    await sheet.waitFor({ state: "detached" });

    await page.getByRole("textbox", { name: "Folder" }).fill("~/boats");
    await page.getByLabel("Prompt").fill("hail from home");
    await page.getByRole("button", { name: /^Start/ }).click();
    await page.waitForURL(/\/sessions\/[^/]+$/);
    assert.equal((await hub.session(page.url().split("/").at(-1))).cwd, join(stage.folder, "home/boats"));
    assert.deepEqual(page.complaints, []);
  },
);

scene("what `longshore verify` found of an agent stands with it, by name", async ({ open, hub, stage }) => {
  const { version } = (await hub.call("GET", "/agents")).agents.find((one) => one.name === "codex");
  const file = join(stage.folder, "longshore/data/verified.json");
  writeFileSync(
    file,
    JSON.stringify({
      codex: { version, at: new Date().toISOString(), played: 19, compared: 19, differs: ["plan", "edit"] },
    }),
  );
  const page = await open({ path: "/machines" });
  await page
    .getByRole("button", { name: /^Codex/ })
    .first()
    .getByText("17 of 19 scenarios as recorded. Different: plan, edit")
    .waitFor();
  rmSync(file);
  assert.deepEqual(page.complaints, []);
});
