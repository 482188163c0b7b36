// Every screen: nothing for axe that hinders anybody, nothing wider than the screen, no complaint.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { DESKTOP, PHONE, controlled, quiet } from "./browser.mjs";
import { scene } from "./given.mjs";
import { varied, week } from "./scenes.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

scene(
  "every screen is fit for everybody",
  async ({ open, hub, stage }) => {
    const sessions = [];
    for (const log of week(stage.work ?? "/home/dev")) sessions.push(await hub.take(log));
    const colours = await hub.take(varied(`${stage.work ?? "/home/dev"}/colours`));
    const paths = [
      "/",
      "/sessions",
      `/sessions/${sessions[0]}`,
      `/sessions/${sessions[0]}/changes`,
      "/new",
      "/machines",
      "/usage",
      "/pair",
      `/sessions/${colours}`,
    ];
    // What waits is looked at too, where there is somebody to ask.
    if (stage.shop) {
      const { sessionId } = await hub.open({ prompt: "write a note for everybody" });
      await hub.ask(sessionId);
      paths.push(`/sessions/${sessionId}`);
    }
    const faults = [];
    for (const [size, dark] of [
      [PHONE, false],
      [DESKTOP, true],
    ]) {
      const page = await open({ size, dark, path: paths[0], bypassCSP: true });
      for (const path of paths) {
        await page.goto(`${stage.url}${path}`);
        await page.locator("h1, h2").first().waitFor();
        await quiet(page);
        await page.evaluate(() =>
          document.querySelectorAll(".timeline .fold [aria-expanded=false]").forEach((fold) => fold.click()),
        );
        await quiet(page);
        await page.addScriptTag({ content: axe });
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        const serious = violations
          .filter((one) => one.impact !== "minor")
          .map(
            (one) =>
              `${one.id}: ${one.nodes
                .slice(0, 3)
                .map((node) => node.html.slice(0, 160))
                .join(" | ")}`,
          );
        faults.push(...serious.map((fault) => `${path} at ${size.width}: ${fault}`));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) faults.push(`${path} is ${wide} px too wide at ${size.width}`);
      }
      faults.push(...page.complaints);
    }
    assert.deepEqual(faults, []);
  },
  { anywhere: true },
);

scene(
  "the shell opens without a network",
  async ({ open }) => {
    const page = await open({ path: "/sessions", serviceWorkers: "allow" });
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await controlled(page);
    await page.context().setOffline(true);
    await page.reload();
    await page
      .getByText(/Can't reach the hub/)
      .first()
      .waitFor();
  },
  { anywhere: true },
);
