// Fingers and keys: whatever is touched has room for a thumb, also in sheets and
// on a tablet, and radios obey arrows everywhere.
import assert from "node:assert/strict";
import { DESKTOP, hearing, prompt, quiet, until } from "./browser.mjs";
import { scene } from "./given.mjs";
import { varied } from "./scenes.mjs";

const TABLET = { width: 1_180, height: 820 };

/**
 * What a finger would miss. A field has the whole of what is around it; links within words are as high as the words.
 */
const small = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("button, a[href], select, input, textarea")]
      .filter(
        (one) =>
          one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
          !one.closest(".prose, .skip") &&
          one.type !== "file" &&
          !(one.matches("button, a") && document.querySelector("dialog[open]") && !one.closest("dialog")),
      )
      .map((one) => [
        one,
        (one.matches("input, textarea") ? (one.closest("label, .box") ?? one) : one).getBoundingClientRect(),
      ])
      .filter(([, box]) => box.width > 0 && (box.height < 43.5 || box.width < 43.5))
      .map(([one, box]) => `${Math.round(box.width)}x${Math.round(box.height)} ${one.outerHTML.slice(0, 110)}`),
  );

async function roomy(page, where) {
  await quiet(page);
  assert.deepEqual(await small(page), [], where);
}

scene("sheets, files and bars have room for a thumb", async ({ open, hub, stage }) => {
  const session = await hub.take(varied(`${stage.work}/thumbs`));
  const page = await open({ path: `/sessions/${session}` });
  await page.getByText("The answer of the second turn.").waitFor();
  await roomy(page, "a session");
  const sheet = async (name, button) => {
    await button.click();
    await page.getByRole("dialog").waitFor();
    await roomy(page, name);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await sheet("the menu of a session", page.getByRole("button", { name: "More", exact: true }));
  await sheet("permissions", page.locator("button.pick").first());
  await sheet("models", page.locator("button.pick").last());
  await sheet("a message", page.getByRole("button", { name: "What to do with this message" }).last());
  await page
    .locator("input[type=file]")
    .setInputFiles(
      ["note.txt", "other.txt"].map((name) => ({ name, mimeType: "text/plain", buffer: Buffer.from("x") })),
    );
  for (const name of ["note.txt", "other.txt"]) await page.getByRole("button", { name: `Remove ${name}` }).waitFor();
  await roomy(page, "a file");
  await page.getByText("make test").first().scrollIntoViewIfNeeded();
  await page.getByText("make test").first().click();
  await sheet("an output", page.getByRole("button", { name: /Show all 81 lines/ }));
  await hearing(page.getByText("Copied"), () =>
    page.getByRole("button", { name: "Copy", exact: true }).first().click(),
  );
  assert.deepEqual(
    (await small(page)).filter((one) => /class="words/.test(one)),
    [],
    "a toast",
  );

  await page.goto(`${stage.url}/machines`);
  await page.getByRole("heading", { name: "Machines and devices" }).waitFor();
  await sheet("pairing", page.getByRole("button", { name: "Pair a device" }));
  await page.goto(`${stage.url}/new?agent=codex`);
  await sheet("agents", page.getByRole("button", { name: /^Agent: / }));
  await sheet("folders", page.getByRole("button", { name: "Browse" }));
  await page.context().setOffline(true);
  await page.getByText("Offline", { exact: true }).waitFor();
  await roomy(page, "without a connection");
  await page.context().setOffline(false);
  assert.deepEqual(page.complaints, []);
});

scene("on a tablet, too, there is room for a thumb", async ({ open, hub, stage }) => {
  const session = await hub.take(varied(`${stage.work}/tablet`));
  const page = await open({ size: TABLET, hasTouch: true, isMobile: true });
  for (const path of ["/", "/sessions", `/sessions/${session}`, "/new?agent=codex", "/machines", "/usage"]) {
    await page.goto(`${stage.url}${path}`);
    await page.locator("main h1").first().waitFor();
    await roomy(page, path);
  }
  assert.deepEqual(page.complaints, []);
});

scene("radios obey arrows wherever they are, and are one stop for Tab", async ({ open, hub, stage }) => {
  const { sessionId } = await hub.open({ prompt: "which colour by key", mode: "plan" });
  const page = await open({ size: DESKTOP, path: "/new?agent=codex" });
  const obeys = async (group, chooses = true) => {
    await group.waitFor();
    await until(
      "one of them can be reached",
      async () => (await group.locator("[role=radio][tabindex='0']").count()) === 1,
    );
    const from = group.locator("[role=radio][tabindex='0']");
    const words = await from.textContent();
    await from.focus();
    await page.keyboard.press("ArrowDown");
    await until(
      "another one",
      async () =>
        (await page.evaluate(
          () => document.activeElement.getAttribute("role") === "radio" && document.activeElement.textContent,
        )) !== words,
    );
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-checked")), String(chooses));
    assert.equal(await group.locator("[role=radio][tabindex='0']").count(), 1);
  };
  await obeys(page.getByRole("radiogroup", { name: "Permissions" }));
  await page.getByRole("button", { name: /^Agent: / }).click();
  // What is reached in a sheet is not chosen yet: choosing closes it.
  await obeys(page.getByRole("radiogroup", { name: "Agent" }), false);
  await page.goto(`${stage.url}/machines`);
  await page.getByRole("button", { name: "Pair a device" }).click();
  await obeys(page.getByRole("radiogroup", { name: "Permissions" }));
  await page.goto(`${stage.url}/sessions/${sessionId}`);
  await obeys(page.getByRole("radiogroup", { name: /Which colour/ }));
  await prompt(page).waitFor();
  await page.locator("button.pick").first().click();
  await obeys(page.getByRole("radiogroup", { name: "Permissions" }), false);
  await hub.stop(sessionId);
  assert.deepEqual(page.complaints, []);
});
