// Figures, not promises: what a large session costs to open, and how smooth a stream is, on a slowed-down phone.
// `node --experimental-websocket tests/browser/measure.mjs`; what it said is in docs/performance.md. PROFILE=FILE
// writes what the main thread did while the session opened, for a browser's performance panel.
import { writeFileSync } from "node:fs";
import { client, launch, open, quiet, until } from "./browser.mjs";
import { long } from "./scenes.mjs";
import { startStage } from "./stage.mjs";

const EVENTS = Number(process.env.EVENTS ?? 50_000);
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const SECONDS = 5;
const slow = {
  when: { contains: "stream" },
  do: [
    {
      say: Array.from({ length: 4_000 }, (_, at) => `word${at}${at % 40 === 39 ? "\n\n" : ""}`).join(" "),
      chunks: 4_000,
      delay_ms: 4,
    },
  ],
};
const stage = await startStage(() => [slow]);
const browser = await launch();
try {
  const hub = client(stage);
  const page = await open(browser, stage, { path: "/sessions" });
  const cdp = await page.context().newCDPSession(page);
  // Of the thread, not of the clock: what others do on the same machine does not count.
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  const metrics = async () =>
    Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((one) => [one.name, one.value]));

  const events = long(stage.shop, EVENTS);
  await hub.take(events);
  const last = events.findLast((event) => event.type === "message_done").text.split("\n")[0];
  const opening = async () => {
    await page.goto(`${stage.url}/sessions`);
    await page.getByText("A session of").first().waitFor();
    await quiet(page);
    await page.evaluate(() => new Promise((done) => requestIdleCallback(done)));
    if (process.env.PROFILE) await cdp.send("Profiler.enable").then(() => cdp.send("Profiler.start"));
    const [before, begun] = [await metrics(), Date.now()];
    // From within: a hand that comes from outside, and looks whether it may click, costs the page more than the click.
    await page.evaluate(
      (last) =>
        new Promise((done) => {
          const rows = document.getElementsByClassName("place");
          // Painted, and nothing left to do: a frame, and the task after it.
          const watch = new MutationObserver(
            () =>
              [...rows].some((row) => row.textContent.includes(last)) &&
              (watch.disconnect(), requestAnimationFrame(() => setTimeout(done))),
          );
          watch.observe(document.body, { childList: true, subtree: true });
          [...document.querySelectorAll("a[data-row]")].find((row) => row.textContent.includes("A session of")).click();
        }),
      last,
    );
    const [after, waited] = [await metrics(), Date.now() - begun];
    if (process.env.PROFILE)
      writeFileSync(process.env.PROFILE, JSON.stringify((await cdp.send("Profiler.stop")).profile));
    const spent = (name) => Math.round((after[name] - before[name]) * 1_000);
    return {
      thread: spent("TaskDuration"),
      script: spent("ScriptDuration"),
      layout: spent("LayoutDuration") + spent("RecalcStyleDuration"),
      clock: waited,
    };
  };
  for (let round = 1; round <= ROUNDS; round++) {
    const { thread, script, layout, clock } = await opening();
    console.log(
      `${EVENTS} events, opened at the end: ${thread} ms of the main thread ` +
        `(script ${script}, style and layout ${layout}), ${clock} ms on the clock`,
    );
  }
  await quiet(page);
  await cdp.send("HeapProfiler.collectGarbage");
  const heap = Math.round((await metrics()).JSHeapUsedSize / 1_000_000);
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  console.log(`heap ${heap} MB, ${nodes} nodes`);

  const { sessionId } = await hub.open({ prompt: "stream it", mode: "full" });
  await page.goto(`${stage.url}/sessions/${sessionId}`);
  await page.getByText("word50", { exact: false }).first().waitFor();
  const head = (await hub.session(sessionId)).head;
  const [before, frames] = [
    await metrics(),
    await page.evaluate(
      (seconds) =>
        new Promise((done) => {
          const times = [];
          const tick = (now) => (
            times.push(now),
            now - times[0] < seconds * 1_000 ? requestAnimationFrame(tick) : done(times)
          );
          requestAnimationFrame(tick);
        }),
      SECONDS,
    ),
  ];
  const busy = ((await metrics()).TaskDuration - before.TaskDuration) / SECONDS;
  const rate = ((await hub.session(sessionId)).head - head) / SECONDS;
  const gaps = frames
    .slice(1)
    .map((now, at) => now - frames[at])
    .sort((a, b) => a - b);
  const widest = gaps[Math.floor(gaps.length * 0.95)].toFixed(0);
  console.log(
    `stream of ${Math.round(rate)} events/s: ${(frames.length / SECONDS).toFixed(0)} frames/s, ` +
      `95% of the gaps under ${widest} ms, main thread ${Math.round(busy * 100)}% busy`,
  );
  await until("the end", async () => (await hub.session(sessionId)).status !== "active", 60_000);
} finally {
  await browser.close();
  await stage.stop();
}
