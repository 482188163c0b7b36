// Figures, not promises: how long a large session takes to open, and how smooth a stream is, on a slowed-down phone.
// `node --experimental-websocket tests/browser/measure.mjs`; what it said is in docs/performance.md.
import { client, launch, open, until } from "./browser.mjs";
import { long } from "./scenes.mjs";
import { startStage } from "./stage.mjs";

const slow = { when: { contains: "stream" }, do: [{ say: Array.from({ length: 4_000 }, (_, at) => `word${at}${at % 40 === 39 ? "\n\n" : ""}`).join(" "), chunks: 4_000, delay_ms: 5 }] };
const stage = await startStage([slow]);
const browser = await launch();
try {
  const hub = client(stage);
  const page = await open(browser, stage, { path: "/sessions" });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable");
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  const metric = async (name) => (await cdp.send("Performance.getMetrics")).metrics.find((one) => one.name === name).value;

  const events = long(stage.shop, 50_000);
  await hub.take(events);
  const last = events.findLast((event) => event.type === "message_done").text.split("\n")[0];
  for (const round of ["first", "second"]) {
    await page.goto(`${stage.url}/sessions`);
    await page.getByText("A session of").first().waitFor();
    await page.waitForTimeout(1_500);
    const [before, begun] = [await metric("TaskDuration"), Date.now()];
    await page.getByText("A session of").first().click();
    await page.getByText(last).waitFor();
    console.log(`50,000 events, ${round} time: ${Date.now() - begun} ms on the clock, ${Math.round(((await metric("TaskDuration")) - before) * 1000)} ms of the main thread`);
  }
  console.log(`heap ${Math.round((await metric("JSHeapUsedSize")) / 1_000_000)} MB, ${await page.evaluate(() => document.querySelectorAll("*").length)} nodes`);

  const { sessionId } = await hub.open({ prompt: "stream it", mode: "full" });
  await page.goto(`${stage.url}/sessions/${sessionId}`);
  await page.getByText("word50", { exact: false }).first().waitFor();
  const head = (await hub.session(sessionId)).head;
  const frames = await page.evaluate(() => new Promise((done) => {
    const times = [];
    const tick = (now) => (times.push(now), now - times[0] < 5_000 ? requestAnimationFrame(tick) : done(times));
    requestAnimationFrame(tick);
  }));
  const rate = ((await hub.session(sessionId)).head - head) / 5;
  const gaps = frames.slice(1).map((now, at) => now - frames[at]).sort((a, b) => a - b);
  console.log(`stream of ${Math.round(rate)} events/s: ${(frames.length / 5).toFixed(0)} frames/s, 95% of the gaps under ${gaps[Math.floor(gaps.length * 0.95)].toFixed(0)} ms`);
  await until("the end", async () => (await hub.session(sessionId)).status !== "active", 60_000);
} finally {
  await browser.close();
  await stage.stop();
}
