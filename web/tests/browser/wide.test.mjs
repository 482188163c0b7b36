// Where there is room it is used, and where there is little, rows stay whole.
import assert from "node:assert/strict";
import { PHONE, quiet, until, WIDE, withRows } from "./browser.mjs";
import { scene } from "./given.mjs";
import { varied, week } from "./scenes.mjs";

scene("on a wide screen sessions stand on a board, by how they stand", async ({ open, hub, stage }) => {
  const logs = week(`${stage.work}/board`);
  for (const log of logs) await hub.take(log);
  const { sessionId } = await hub.open({ prompt: "write a note for the board" });
  await hub.ask(sessionId);
  const page = await open({ size: WIDE });
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Board" }).click();
  const column = (name) => page.getByRole("region", { name: new RegExp(`^${name}`) });
  for (const name of ["Needs you", "Working", "Done", "Earlier"]) await column(name).waitFor();
  await column("Needs you").getByText("write a note for the board").waitFor();
  await column("Needs you").getByText("note.md").first().waitFor();
  await column("Done").getByText("Speed up the product search").first().waitFor();
  await column("Earlier").getByText("Draft the release notes").first().waitFor();
  // Four columns beside each other, nothing wider than the page.
  const tops = await page
    .locator(".board > section")
    .evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
  assert.equal(new Set(tops).size, 1, `one row: ${tops}`);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await column("Needs you").getByText("write a note for the board").click();
  await page.waitForURL(`**/sessions/${sessionId}`);
  // The board has no more of it once it is answered.
  await hub.call("POST", `/approvals/${(await hub.ask(sessionId)).approval}`, { decision: "cancel" });
  await page.goto(`${stage.url}/sessions`);
  await column("Done").getByText("write a note for the board").waitFor();
  assert.deepEqual(page.complaints, []);
});

scene("on a wide screen plan and changed files stand beside the timeline", async ({ open, hub, stage }) => {
  const session = await hub.take(varied(`${stage.work}/aside`));
  const page = await open({ size: WIDE, path: `/sessions/${session}` });
  await page.getByText("The answer of the second turn.").waitFor();
  const aside = page.getByRole("region", { name: "About this session" });
  await aside.getByText("2 of 2").waitFor();
  await aside.locator(".diff .hljs-keyword").first().waitFor();
  await aside.getByText(`${stage.work}/aside`).waitFor();
  const talk = await page.locator(".talk").evaluate((one) => one.clientWidth);
  assert.ok(talk > 680, `${talk} px for the timeline`);
  await aside.getByRole("link", { name: "Open all" }).click();
  await page.getByRole("heading", { name: "Changed files" }).waitFor();
  // With less room, the timeline has it.
  await page.setViewportSize({ width: 1_200, height: 800 });
  await page.goto(`${stage.url}/sessions/${session}`);
  await page.getByText("The answer of the second turn.").waitFor();
  assert.equal(await aside.count(), 0);
  assert.deepEqual(page.complaints, []);
});

scene("whatever is touched on a phone has room for a thumb", async ({ open, hub, stage }) => {
  const { sessionId } = await hub.open({ prompt: "write a note for a thumb" });
  await hub.ask(sessionId);
  const page = await open();
  for (const path of [
    "/",
    "/sessions",
    "/new?agent=codex",
    "/machines",
    "/usage",
    `/sessions/${sessionId}`,
    "/sessions/nonsense",
  ]) {
    await page.goto(`${stage.url}${path}`);
    await page.locator("h1").first().waitFor();
    await quiet(page);
    // A switch has the whole of its line, and a field the whole of what is around it.
    const small = await page.evaluate(() =>
      [...document.querySelectorAll("main button, main a, main select, nav a, main input[type=search]")]
        .filter((one) => one.offsetParent && !one.closest(".prose") && one.getBoundingClientRect().height < 43.5)
        .map((one) => `${one.getBoundingClientRect().height} ${one.outerHTML.slice(0, 90)}`),
    );
    assert.deepEqual(small, [], path);
  }
  await page.getByText("No such session").waitFor();
  assert.equal(await page.getByText(/UUID/).count(), 0);
  await hub.stop(sessionId);
  assert.deepEqual(page.complaints, []);
});

scene("the facts of a row stay whole: a branch gives way before it is a stump", async ({ open, hub, stage }) => {
  const ids = [await hub.take(varied(`${stage.work}/facts`)), await hub.take(varied(`${stage.work}/facts`))];
  // Whoever was just renamed stands at the top, whatever other scenes have left.
  for (const id of ids) await hub.call("PATCH", `/sessions/${id}`, { title: "A row of facts" });
  const branches = ["main", "feature/a-branch-with-a-name-that-is-far-too-long-for-any-phone"];
  const queue = [{ prompt: ids[0], by: "owner", text: "later", queuedAt: new Date().toISOString() }];
  for (const size of [PHONE, { width: 320, height: 640 }, { width: 1_000, height: 800 }]) {
    const page = await open({ size, path: "/machines" });
    await withRows(page, (row) =>
      ids.includes(row.sessionId)
        ? {
            ...row,
            title: "A row of facts",
            git: { branch: branches[ids.indexOf(row.sessionId)] },
            costUsd: 1234.56,
            queue,
          }
        : row,
    );
    await page.goto(`${stage.url}/sessions`);
    const facts = page.locator(".session", { hasText: "A row of facts" }).locator(".facts");
    await until("both rows", async () => (await facts.count()) >= 2);
    const faults = await facts.evaluateAll((rows) =>
      rows.flatMap((row) => {
        const box = row.getBoundingClientRect();
        const line = parseFloat(getComputedStyle(row).lineHeight);
        return [...row.children].flatMap((fact) => {
          const { width, height, top, right } = fact.getBoundingClientRect();
          if (top >= box.bottom - 2)
            return fact.classList.contains("branch")
              ? []
              : [`${fact.textContent.trim()} is left out before the branch`];
          const broken = height > line * 1.6 ? [`${fact.textContent.trim()} is in two lines`] : [];
          const stump =
            fact.classList.contains("branch") &&
            width < 60 &&
            fact.querySelector(".one-line").scrollWidth > fact.querySelector(".one-line").clientWidth + 1
              ? [`${fact.textContent.trim()} is a stump of ${width} px`]
              : [];
          return [...broken, ...stump, ...(right > box.right + 1 ? [`${fact.textContent.trim()} is cut`] : [])];
        });
      }),
    );
    assert.deepEqual(faults, [], `at ${size.width}`);
    assert.deepEqual(page.complaints, []);
  }
});
