// Runs the browser tests, one after the other: the machine may be small. With LONGSHORE_URL and
// LONGSHORE_TOKEN against that hub (those that need no script), otherwise on a stage of their own.
// Words behind it pick scenes by their file or name.
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { launch } from "./browser.mjs";
import { perform, scenes } from "./given.mjs";
import { steps } from "./scenes.mjs";
import { startStage } from "./stage.mjs";

const wanted = process.argv.slice(2);
const times = Number(process.env.TIMES ?? 1);
const chosen = [];
for (const file of readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".test.mjs"))
  .sort()) {
  const before = scenes.length;
  await import(`./${file}`);
  chosen.push(
    ...scenes
      .slice(before)
      .filter(({ name }) => !wanted.length || wanted.some((word) => file.includes(word) || name.includes(word))),
  );
}

/**
 * As in `tests/run.sh`: real agents and a real browser have races of their own.
 * What passed only at the second go is named.
 */
const MOST_UNSTEADY = 3;
const unsteady = [];

const elsewhere = process.env.LONGSHORE_URL;
const browser = await launch();
for (let time = 1; time <= times; time++) {
  const stage = elsewhere ? { url: elsewhere, token: process.env.LONGSHORE_TOKEN } : await startStage(steps);
  await test("the web app in a browser", async (t) => {
    for (const scene of chosen) {
      const skip = elsewhere && !scene.anywhere ? "needs a stage of its own" : false;
      await t.test(scene.name, { skip }, async (t) => {
        const play = () => perform(scene, { browser, stage, note: (words) => words && t.diagnostic(words) });
        try {
          await play();
        } catch (error) {
          if (unsteady.length >= MOST_UNSTEADY) throw error;
          t.diagnostic(`tried once more: ${error.message}`);
          await play();
          unsteady.push(scene.name);
        }
      });
    }
  });
  await stage.stop?.();
}
await browser.close();
for (const name of unsteady) console.log(`UNSTEADY, passed only at the second go: ${name}`);
