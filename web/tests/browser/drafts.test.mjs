// Words that were begun are still there after a scroll, a look elsewhere and a reload.
import assert from "node:assert/strict";
import { chooseAgent, prompt, until } from "./browser.mjs";
import { scene } from "./given.mjs";

const LOW = { width: 390, height: 430 };

scene("an answer that was begun outlasts scrolling, leaving and reloading", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "speak at length", mode: "plan" });
  await hub.rest(sessionId);
  await hub.call("POST", `/sessions/${sessionId}/prompts`, { content: "which colour shall it be" });
  const page = await open({ size: LOW, path: `/sessions/${sessionId}` });
  const teal = page.getByRole("radio", { name: /Teal/ });
  const other = page.getByRole("textbox", { name: "Other" });
  await teal.waitFor();
  await other.fill("Purple with dots");
  const there = () => until("what was begun", async () => (await other.inputValue()) === "Purple with dots");

  // Off the screen and back: the card was taken out of the page.
  await page.locator(".rows").evaluate((list) => list.scrollTo(0, 0));
  await teal.waitFor({ state: "detached" });
  await page.getByRole("button", { name: /^Latest/ }).click();
  await teal.waitFor();
  await there();

  // The inbox has the same words, and so has the page after a reload.
  await page.goto(new URL("/", page.url()).href);
  await teal.waitFor();
  await there();
  await page.reload();
  await teal.waitFor();
  await there();
  await page.getByRole("button", { name: "Answer" }).click();
  await until("what was sent is no draft", () =>
    page.evaluate(() => !Object.keys(localStorage).some((name) => name.includes("answer."))),
  );
  await hub.stop(sessionId);
  assert.deepEqual(page.complaints, []);
});

scene("a denial that was begun is still open with its words", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ prompt: "speak at length" });
  await hub.rest(sessionId);
  await hub.call("POST", `/sessions/${sessionId}/prompts`, { content: "write a note, drafted" });
  const page = await open({ size: LOW, path: `/sessions/${sessionId}` });
  await page.getByRole("button", { name: "Deny with a message" }).click();
  const field = page.getByLabel("Message to the agent");
  await field.fill("not there, but");
  const there = () =>
    until("the words", async () => (await field.count()) === 1 && (await field.inputValue()) === "not there, but");
  await page.locator(".rows").evaluate((list) => list.scrollTo(0, 0));
  await field.waitFor({ state: "detached" });
  await page.getByRole("button", { name: /^Latest/ }).click();
  await there();
  await page.reload();
  await there();
  await page.getByRole("button", { name: "Deny and send" }).click();
  await page
    .getByText(/“not there, but”/)
    .first()
    .waitFor();
  await hub.stop(sessionId);
  assert.deepEqual(page.complaints, []);
});

scene(
  "a session that was about to be started keeps its words, and a folder that is not there is said on the form",
  async ({ open, hub, stage }) => {
    const page = await open({ path: "/sessions" });
    await page.getByRole("link", { name: "New", exact: true }).click();
    await page.getByLabel("Prompt").fill("hail from a draft");
    await page.getByRole("textbox", { name: "Folder" }).fill(`${stage.shop}/nowhere`);
    await page.getByRole("button", { name: "Back", exact: true }).click();
    await page.getByRole("link", { name: "New", exact: true }).click();
    assert.equal(await page.getByLabel("Prompt").inputValue(), "hail from a draft");
    await page.reload();
    await until("the draft", async () => (await page.getByLabel("Prompt").inputValue()) === "hail from a draft");
    const before = (await hub.call("GET", "/sessions?limit=200")).sessions.length;
    await page.getByRole("button", { name: /^Start/ }).click();
    await page.getByRole("alert").waitFor();
    assert.equal(await page.getByLabel("Prompt").inputValue(), "hail from a draft", "the words stay");
    assert.equal((await hub.call("GET", "/sessions?limit=200")).sessions.length, before, "nothing was opened");
    await page.getByRole("textbox", { name: "Folder" }).fill(stage.shop);
    await page.getByRole("button", { name: /^Start/ }).click();
    await page.getByText("hail from a draft").first().waitFor();
    await page.goto(`${stage.url}/new`);
    await page.getByRole("button", { name: /^Agent: / }).waitFor();
    assert.equal(await page.getByLabel("Prompt").inputValue(), "", "what was sent is no draft");
    assert.deepEqual(page.complaints, []);
  },
);

scene(
  "a session that is started without a network is started once, when there is one",
  async ({ open, hub, stage }) => {
    const page = await open({ path: "/new" });
    await chooseAgent(page, /Codex/);
    await page.getByRole("textbox", { name: "Folder" }).fill(stage.shop);
    await page.getByLabel("Prompt").fill("hail from a tunnel entrance");
    await page.context().setOffline(true);
    await page.getByText("Offline").first().waitFor();
    await page.getByRole("button", { name: /when back online/ }).click();
    await page.getByText(/Will be started when you're back online/).waitFor();
    await page.context().setOffline(false);
    await page.evaluate(() => dispatchEvent(new Event("online")));
    const found = () =>
      hub
        .call("GET", "/sessions?limit=200")
        .then(({ sessions }) =>
          sessions.filter(
            (one) => /tunnel entrance/.test(one.title ?? "") || /tunnel entrance/.test(one.queue?.[0]?.text ?? ""),
          ),
        );
    await until("the session", async () => (await found()).length === 1);
    await page.getByText(/Will be started/).waitFor({ state: "detached" });
    assert.deepEqual(page.complaints, []);
  },
);

scene(
  "sessions that are started without a network are each started, and one that is taken back is a form again",
  async ({ open, hub, stage }) => {
    const page = await open({ path: "/new" });
    await chooseAgent(page, /Codex/);
    await page.context().setOffline(true);
    await page.getByText("Offline").first().waitFor();
    for (const name of ["one", "two", "three"]) {
      if (name !== "one") await page.getByRole("link", { name: "New", exact: true }).click();
      await page.getByRole("textbox", { name: "Folder" }).fill(name === "three" ? stage.work : stage.shop);
      await page.getByLabel("Prompt").fill(`hail from tunnel ${name}`);
      await page.getByRole("radio", { name: name === "three" ? "Plan" : "Ask" }).click();
      await page.getByRole("button", { name: /when back online/ }).click();
      await page
        .locator(".bar", { hasText: `tunnel ${name}` })
        .getByText("Will be started when you're back online")
        .waitFor();
    }
    // It outlasts the page, and does not need the form to be empty.
    await page.getByRole("link", { name: "New", exact: true }).click();
    await page.getByLabel("Prompt").fill("half a");
    await page.locator(".bar", { hasText: "tunnel three" }).getByRole("button", { name: "Undo" }).click();
    await until(
      "the words",
      async () => (await page.getByLabel("Prompt").inputValue()) === "half a\n\nhail from tunnel three",
    );
    assert.equal(await page.getByRole("textbox", { name: "Folder" }).inputValue(), stage.work);
    assert.equal(await page.getByRole("radio", { name: "Plan" }).getAttribute("aria-checked"), "true");
    await page.context().setOffline(false);
    await page.evaluate(() => dispatchEvent(new Event("online")));
    const found = () =>
      hub.call("GET", "/sessions?limit=200").then(({ sessions }) =>
        sessions
          .map((one) => one.title)
          .filter((title) => /from tunnel/.test(title))
          .sort(),
      );
    await until("both sessions", async () => (await found()).length === 2);
    await page
      .getByText(/Will be started/)
      .first()
      .waitFor({ state: "detached" });
    assert.deepEqual(await found(), ["hail from tunnel one", "hail from tunnel two"]);
    assert.deepEqual(page.complaints, []);
  },
);

scene("words in a composer and the files with them outlast a look elsewhere", async ({ open, hub }) => {
  const { sessionId } = await hub.open({ mode: "full" });
  const page = await open({ path: `/sessions/${sessionId}` });
  await prompt(page).fill("half a");
  // A file that is dropped on the page is attached, and the page stays.
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["words"], "dropped.txt", { type: "text/plain" }));
    for (const type of ["dragover", "drop"])
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  await page.getByText("dropped.txt").waitFor();
  await page.getByRole("button", { name: "Back", exact: true }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  await page.evaluate((path) => history.pushState(null, "", path), `/sessions/${sessionId}`);
  await page.evaluate(() => dispatchEvent(new PopStateEvent("popstate")));
  await page.getByText("dropped.txt").waitFor();
  assert.equal(await prompt(page).inputValue(), "half a");
  assert.deepEqual(page.complaints, []);
});
