// A whole hub on a stage of its own: a scripted model, the real codex and the real claude, and the app that is
// built into the program. Nothing outside is touched.
//
// Used by run.mjs when no LONGSHORE_URL is given, and by itself (`node tests/browser/stage.mjs`) to try things by hand.
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { client, until } from "./browser.mjs";
import { serveDist } from "./dist.mjs";

export const ROOT = resolve(import.meta.dirname, "../../..");
export const BIN = process.env.LONGSHORE_BIN ?? join(ROOT, "target/debug/longshore");
const AGENTS = join(ROOT, "tests/agents/node_modules/.bin");
const TOKEN = "the-token-of-the-browser-tests";

/** Whoever ends us must not leave hubs and their agents behind. */
const stages = new Set();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"])
  process.once(signal, () => void Promise.all([...stages].map((one) => one.stop())).finally(() => process.exit(1)));

/** Starts everything. `steps` makes a script of the model (docs/model-script.md) for a work tree. */
export async function startStage(steps) {
  const folder = mkdtempSync(join(tmpdir(), "longshore-stage-"));
  const at = (...names) => join(folder, ...names);
  for (const name of ["home", "codex", "claude", "longshore", "tmp", "work", "work/shop"])
    mkdirSync(at(name), { recursive: true });
  const stage = { folder, work: at("work"), shop: at("work/shop"), token: TOKEN, hub: undefined, hubUrl: "", url: "" };
  writeFileSync(at("script.json"), JSON.stringify(steps(stage.shop)));
  writeFileSync(at("work/shop/cart.py"), "def total(prices, discount):\n    return sum(prices) + discount\n");

  const model = spawn(BIN, ["model", "--script", at("script.json")], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env.PATH, HOME: at("home") },
  });
  stage.stop = async () => {
    stages.delete(stage);
    await stage.front?.stop();
    for (const child of [stage.hub, model]) await ended(child);
    // Agents that were just ended may still write.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  };
  stages.add(stage);
  try {
    let said = "";
    model.stdout.on("data", (text) => (said += text));
    const base = JSON.parse(
      await until("the model", () => (said.includes("\n") ? said.split("\n")[0] : undefined)),
    ).url;
    writeFileSync(at("codex/config.toml"), codexConfig(base));
    writeFileSync(at("longshore/config.toml"), `[agents.react]\nbase_url = "${base}"\nmodel = "scripted"\n`);
    await raise(stage, at, base);
  } catch (error) {
    await stage.stop();
    throw error;
  }
  return stage;
}

async function raise(stage, at, base) {
  const env = {
    PATH: process.env.PATH,
    HOME: at("home"),
    TMPDIR: at("tmp"),
    LANG: "C.UTF-8",
    CODEX_HOME: at("codex"),
    CODEX_PATH: join(AGENTS, "codex"),
    CLAUDE_PATH: join(AGENTS, "claude"),
    CLAUDE_CONFIG_DIR: at("claude"),
    ANTHROPIC_BASE_URL: base.replace("/v1", ""),
    ANTHROPIC_API_KEY: "none",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    IS_SANDBOX: "1",
    LONGSHORE_HOME: at("longshore"),
    LONGSHORE_TOKEN: TOKEN,
    LONGSHORE_WATCH_PAST: "false",
  };
  /** Starts the hub, or starts it again where it was. */
  stage.startHub = async () => {
    rmSync(at("longshore/data/hub.json"), { force: true });
    const log = openSync(at("hub.log"), "a");
    stage.hub = spawn(BIN, ["up", "--bind", stage.hubUrl ? new URL(stage.hubUrl).host : "127.0.0.1:0"], {
      env,
      cwd: at("work"),
      stdio: ["ignore", "ignore", log],
    });
    closeSync(log);
    stage.hubUrl = await until("the hub", () => {
      try {
        return JSON.parse(readFileSync(at("longshore/data/hub.json"), "utf8")).url;
      } catch {
        if (stage.hub.exitCode !== null) throw new Error(`the hub ended at once\n${stage.lastLines()}`);
      }
    });
  };
  stage.killHub = () => new Promise((done) => (stage.hub.once("exit", done), stage.hub.kill("SIGKILL")));
  /** What the hub said last. */
  stage.lastLines = () => readFileSync(at("hub.log"), "utf8").split("\n").slice(-15).join("\n");
  await stage.startHub();
  if (process.env.LONGSHORE_DIST)
    stage.front = await serveDist(resolve(process.env.LONGSHORE_DIST), () => stage.hubUrl);
  stage.url = stage.front?.url ?? stage.hubUrl;
  const page = await (await fetch(stage.url)).text();
  if (!page.includes('id="app"')) throw new Error(`${BIN} was built without the web app: make web, then cargo build`);
  await settleCodex(client(stage));
}

/**
 * Codex lays down its own files when it is first started, and two that do so at once fail: here it has done so before.
 */
async function settleCodex(hub) {
  await hub.call("GET", "/agents");
  const { sessionId } = await hub.open();
  await until("codex", async () => (await hub.session(sessionId)).native);
  await hub.call("PATCH", `/sessions/${sessionId}`, { archived: true });
  await hub.call("DELETE", `/sessions/${sessionId}`);
}

async function ended(child) {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((done) => {
    child.once("exit", done);
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), 30_000).unref();
  });
}

function codexConfig(base) {
  return `model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "Scripted"
base_url = "${base}"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
[tools.update_plan]
enabled = true
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { steps } = await import("./scenes.mjs");
  const stage = await startStage(steps);
  console.log(`${stage.url}/?token=${stage.token}`);
}
