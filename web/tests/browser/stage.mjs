// A whole hub on a stage of its own: a scripted model, the real codex, the built app before it. Nothing outside is touched.
//
// Used by run.mjs when no LONGSHORE_URL is given, and by itself (`node tests/browser/stage.mjs`) to try things by hand.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { preview } from "vite";

const WEB = resolve(fileURLToPath(import.meta.url), "../../..");
const BIN = process.env.LONGSHORE_BIN ?? join(WEB, "../target/debug/longshore");
const AGENTS = join(WEB, "../tests/agents/node_modules/.bin");
const TOKEN = "the-token-of-the-browser-tests";
const WITHIN = 60_000;

async function until(what, look) {
  const end = Date.now() + WITHIN;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited too long for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Starts everything. `steps` is a script of the model, see docs/model-script.md. */
export async function startStage(steps) {
  const folder = mkdtempSync(join(tmpdir(), "longshore-stage-"));
  const at = (...names) => join(folder, ...names);
  for (const name of ["home", "codex", "claude", "tmp", "work", "work/shop"]) mkdirSync(at(name), { recursive: true });
  writeFileSync(at("script.json"), JSON.stringify(steps));
  writeFileSync(at("work/shop/cart.py"), "def total(prices, discount):\n    return sum(prices) + discount\n");

  const model = spawn(BIN, ["model", "--script", at("script.json")], { stdio: ["ignore", "pipe", "inherit"], env: { PATH: process.env.PATH, HOME: at("home") } });
  let said = "";
  model.stdout.on("data", (text) => (said += text));
  const base = JSON.parse(await until("the model", () => (said.includes("\n") ? said.split("\n")[0] : undefined))).url;
  writeFileSync(at("codex/config.toml"), codexConfig(base));

  const env = {
    PATH: process.env.PATH, HOME: at("home"), TMPDIR: at("tmp"), LANG: "C.UTF-8",
    CODEX_HOME: at("codex"), CODEX_PATH: join(AGENTS, "codex"),
    CLAUDE_PATH: join(AGENTS, "claude"), CLAUDE_CONFIG_DIR: at("claude"), ANTHROPIC_BASE_URL: base.replace("/v1", ""), ANTHROPIC_API_KEY: "none",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1",
    LONGSHORE_HOME: at("longshore"), LONGSHORE_TOKEN: TOKEN, LONGSHORE_WATCH_PAST: "false",
  };
  const stage = { folder, work: at("work"), shop: at("work/shop"), token: TOKEN, model: base.replace("/v1", ""), hub: undefined, hubUrl: "", url: "" };

  /** Starts the hub, or starts it again where it was. */
  stage.startHub = async (bind = "127.0.0.1:0") => {
    rmSync(at("longshore/data/hub.json"), { force: true });
    stage.hub = spawn(BIN, ["up", "--bind", bind], { env, cwd: at("work"), stdio: ["ignore", "ignore", process.env.STAGE_LOG ? "inherit" : "ignore"] });
    stage.hubUrl = await until("the hub", () => {
      try {
        return JSON.parse(readFileSync(at("longshore/data/hub.json"), "utf8")).url;
      } catch {
        if (stage.hub.exitCode !== null) throw new Error("the hub ended at once");
      }
    });
  };
  stage.killHub = () => new Promise((done) => (stage.hub.once("exit", done), stage.hub.kill("SIGKILL")));
  stage.script = (script) => fetch(`${stage.model}/_script`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(script) });
  await stage.startHub();

  process.env.LONGSHORE_HUB = stage.hubUrl;
  // A hub that serves the app itself needs nobody before it.
  const page = await fetch(stage.hubUrl).then((answer) => (answer.ok ? answer.text() : ""), () => "");
  let server;
  if (page.includes('id="app"')) stage.url = stage.hubUrl;
  else {
    server = await preview({ root: WEB, configFile: join(WEB, "vite.config.ts"), preview: { port: 0, host: "127.0.0.1" }, logLevel: "silent" });
    stage.url = server.resolvedUrls.local[0].replace(/\/$/, "");
  }
  stage.stop = async () => {
    await server?.close();
    for (const child of [stage.hub, model]) if (child.exitCode === null) await new Promise((done) => (child.once("exit", done), child.kill("SIGTERM"), setTimeout(() => child.kill("SIGKILL"), 5_000).unref()));
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  // Whoever ends us must not leave a hub and its agents behind.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.once(signal, () => void stage.stop().finally(() => process.exit(1)));
  return stage;
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
  const { STEPS } = await import("./scenes.mjs");
  const stage = await startStage(STEPS);
  console.log(`${stage.url}/?token=${stage.token}`);
}
