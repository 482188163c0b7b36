// Runs the browser tests. With LONGSHORE_URL and LONGSHORE_TOKEN against that hub (those that need no script of their
// own), otherwise on a stage of its own with the real codex.
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { STEPS } from "./scenes.mjs";
import { startStage } from "./stage.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));
const wanted = process.argv.slice(2);
const files = readdirSync(folder).filter((name) => name.endsWith(".test.mjs") && (!wanted.length || wanted.some((word) => name.includes(word)))).map((name) => join(folder, name));

let stage;
if (!process.env.LONGSHORE_URL) {
  stage = await startStage(STEPS);
  Object.assign(process.env, { LONGSHORE_URL: stage.url, LONGSHORE_TOKEN: stage.token, LONGSHORE_STAGE: JSON.stringify({ shop: stage.shop, work: stage.work, model: stage.model, hubUrl: stage.hubUrl }) });
}
// Node 20 has a WebSocket, but only if asked.
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --experimental-websocket`;
// One browser at a time: they are heavy, and the machine may be small.
const tests = run({ files, concurrency: 1, timeout: 240_000 });
tests.on("test:fail", () => (process.exitCode = 1));
tests.compose(new spec()).pipe(process.stdout);
await new Promise((done) => tests.on("end", done));
await stage?.stop();
