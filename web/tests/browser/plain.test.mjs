// Every screen: nothing serious for axe, nothing wider than the screen, no complaint.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { client, DESKTOP, open, PHONE } from "./browser.mjs";
import { given, stage } from "./given.mjs";
import { week } from "./scenes.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("every screen is fit for everybody", { timeout: 200_000 }, async () => {
  const hub = client(stage);
  const sessions = [];
  for (const log of week(stage.work ?? "/home/dev")) sessions.push(await hub.take(log));
  const paths = ["/", "/sessions", `/sessions/${sessions[0]}`, `/sessions/${sessions[0]}/changes`, "/new", "/machines", "/usage", "/pair"];
  const faults = [];
  for (const [size, dark] of [[PHONE, false], [DESKTOP, true]]) {
    for (const path of paths) {
      const page = await open(given.browser, stage, { size, dark, path, bypassCSP: true });
      await page.locator("h1, h2").first().waitFor();
      await page.waitForTimeout(600);
      await page.addScriptTag({ content: axe });
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      const serious = violations.filter((one) => one.impact === "serious" || one.impact === "critical").map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
      faults.push(...serious.map((fault) => `${path} at ${size.width}: ${fault}`));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) faults.push(`${path} is ${wide} px too wide at ${size.width}`);
      faults.push(...page.complaints.map((complaint) => `${path}: ${complaint}`));
      await page.context().close();
    }
  }
  assert.deepEqual(faults, []);
});

test("the shell opens without a network", async () => {
  const page = await open(given.browser, stage, { path: "/sessions", serviceWorkers: "allow" });
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
  await page.context().setOffline(true);
  await page.reload();
  await page.getByText(/No answer from the hub|Waiting for the hub/).first().waitFor();
  await page.context().close();
});
