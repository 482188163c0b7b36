// Runs the browser tests, some side by side: most of a scene is waiting, for an agent or a page. With LONGSHORE_URL and
// LONGSHORE_TOKEN against that hub (those that need no script, one after the other), otherwise on stages of their own.
// Words behind it pick scenes by their file or name.
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
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
 * As in `tests/programs.mjs`: real agents and a real browser have races of their own.
 * What passed only at the second go is named.
 */
const MOST_UNSTEADY = 3;
let failed = 0;
const unsteady = [];

const elsewhere = process.env.LONGSHORE_URL;
/** How many scenes are played at a time, each on a stage and in a browser that no other scene uses meanwhile. */
const LANES = elsewhere ? 1 : Math.min(Number(process.env.LANES ?? availableParallelism()), chosen.length);

async function openLane() {
  const stage = elsewhere ? { url: elsewhere, token: process.env.LONGSHORE_TOKEN } : await startStage(steps);
  return { stage, browser: await launch() };
}

async function closeLane({ stage, browser }) {
  await browser.close();
  await stage.stop?.();
}

for (let time = 1; time <= times; time++) {
  const lanes = await Promise.all(Array.from({ length: LANES }, openLane));
  const free = [...lanes];
  await test("the web app in a browser", { concurrency: LANES }, async (t) => {
    const played = chosen.map((scene) => {
      const skip = elsewhere && !scene.anywhere ? "needs a stage of its own" : false;
      return t.test(scene.name, { skip }, async (t) => {
        // As many scenes as lanes are played at a time: one is free.
        const lane = free.pop();
        const play = () => perform(scene, { ...lane, note: (words) => words && t.diagnostic(words) });
        try {
          await play();
        } catch (error) {
          if (++failed > MOST_UNSTEADY) throw error;
          t.diagnostic(`tried once more: ${error.message}`);
          await play();
          unsteady.push(scene.name);
        } finally {
          free.push(lane);
        }
      });
    });
    await Promise.all(played);
  });
  await Promise.all(lanes.map(closeLane));
}
for (const name of unsteady) console.log(`UNSTEADY, passed only at the second go: ${name}`);
