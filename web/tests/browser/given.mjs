// A scene is a test on one hub with one browser, which no other scene uses meanwhile. It is given pages and calls of
// the hub; what it opened is closed after it, and when it fails, what its pages showed is kept.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { client, open } from "./browser.mjs";

/**
 * No scene takes a minute; this is for a machine that has much else to do, and for several waits that each take long.
 */
const WITHIN = 900_000;
/** Where pictures of failures go. */
const FAILURES = join(import.meta.dirname, "../../node_modules/.failures");

export const scenes = [];

/** `anywhere`: also on a hub that is not ours, where no script is played. */
export function scene(name, play, { anywhere = false } = {}) {
  scenes.push({ name, play, anywhere });
}

/** Plays a scene on a stage. */
export async function perform({ name, play }, { browser, stage, note }) {
  const pages = [];
  const given = {
    stage,
    note,
    hub: client(stage),
    browser,
    async open(options) {
      const page = await open(browser, stage, options);
      pages.push(page);
      return page;
    },
  };
  let timer;
  const late = new Promise(
    (_, fail) => (timer = setTimeout(() => fail(new Error(`took longer than ${WITHIN / 1_000} s`)), WITHIN)),
  );
  try {
    await Promise.race([play(given), late]);
  } catch (error) {
    for (const [at, page] of pages.entries()) note(await lastWords(page, `${name} ${at + 1}`));
    note(stage.lastLines?.() ?? "");
    throw error;
  } finally {
    clearTimeout(timer);
    await Promise.all(
      pages.map((page) =>
        page
          .context()
          .close()
          .catch(() => {}),
      ),
    );
  }
}

async function lastWords(page, name) {
  try {
    mkdirSync(FAILURES, { recursive: true });
    const path = join(FAILURES, `${name.replace(/[^a-z0-9]+/gi, "-")}.png`);
    await page.screenshot({ path, timeout: 30_000 });
    const words = await page.locator("body").innerText({ timeout: 30_000 });
    return `${page.url()} (${path}) showed:\n${words.slice(0, 2_000)}`;
  } catch (error) {
    return `${name} could not be looked at: ${String(error).split("\n")[0]}`;
  }
}
