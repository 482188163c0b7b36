// Runs the parts of a whole two at a time. The next part is the first in the list whose needs are met. Some parts wait
// for agents or a browser, and others compute, so two parts together use the machine well.
import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";

/** Two parts keep two cores busy. More parts would only slow each other down. */
const AT_A_TIME = 2;

/** The width of the longest name of a part. */
const WIDTH = 13;

/** How long to read the outputs of a process after its end, in milliseconds. */
const LINGERING = 10_000;

/** The ids of all running processes. Each id is also the id of the process group. */
const running = new Set();
/** Whether a signal came. The first signal ends all processes; the second signal kills them. */
let ended = false;
const end = (signal) => {
  for (const group of running) process.kill(-group, ended ? "SIGKILL" : signal);
  ended = true;
};
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => end(signal));
/** A closed output means that the program that reads it has ended. */
process.stdout.on("error", () => end("SIGTERM"));

/** The name of the part that prints a line. */
const part = new AsyncLocalStorage();

/** Prints the complete lines of an output at once, each with the name of its part. */
function echo(stream) {
  const name = part.getStore();
  if (!name) return;
  let rest = "";
  const print = (lines) => lines.forEach((line) => console.log(`${name.padEnd(WIDTH)} | ${line}`));
  stream.on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    print(lines);
  });
  stream.on("close", () => rest && print([rest]));
}

/**
 * Runs a command to its end. Returns how it ended, all of its output, and the text of each output stream. Prints the
 * output as it comes, except the standard output of a `quiet` command.
 */
export function command(program, args, { quiet = false, ...options } = {}) {
  return new Promise((done) => {
    if (ended) return done({ ok: false, said: "", out: "", err: "" });
    const child = spawn(program, args, { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const [said, out, err] = [[], [], []];
    child.once("error", (error) => done({ ok: false, said: `${program}: ${error.message}`, out: "", err: "" }));
    if (!child.pid) return;
    running.add(child.pid);
    child.stdout.on("data", (text) => (said.push(text), out.push(text)));
    child.stderr.on("data", (text) => (said.push(text), err.push(text)));
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8");
    for (const stream of quiet ? [child.stderr] : [child.stdout, child.stderr]) echo(stream);
    child.once("exit", () => {
      running.delete(child.pid);
      // Processes that the command left behind may hold its outputs open. The wait for them is bounded.
      setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), LINGERING).unref();
    });
    child.once("close", (code, signal) => {
      if (signal) said.push(`${program} was ended by ${signal}\n`);
      done({ ok: code === 0 && !ended, said: said.join(""), out: out.join(""), err: err.join("") });
    });
  });
}

/**
 * Runs parts. A part is `{ name, needs, run }`, and `run` returns the same as `command`. Returns whether all parts passed,
 * and the output of all parts.
 */
export async function perform(parts) {
  const [waiting, begun, passed, failed, all] = [[...parts], new Map(), new Set(), [], []];
  const seconds = (since) => `${Math.round((Date.now() - since) / 1_000)} s`;
  const headline = (words) => console.log(`\n${`━━ ${words} `.padEnd(100, "━")}`);
  const play = async (one) => {
    const at = Date.now();
    headline(`${one.name} begins`);
    const { ok, said } = await part.run(one.name, one.run);
    begun.delete(one);
    all.push(said);
    if (ok) passed.add(one.name);
    else failed.push({ ...one, said });
    headline(`${one.name}: ${ok ? "passed" : "FAILED"} after ${seconds(at)}`);
  };
  for (;;) {
    while (!ended && begun.size < AT_A_TIME) {
      const at = waiting.findIndex(({ needs = [] }) => needs.every((need) => passed.has(need)));
      if (at < 0) break;
      const [one] = waiting.splice(at, 1);
      begun.set(one, play(one));
    }
    if (!begun.size) break;
    await Promise.race(begun.values());
  }
  for (const { name, said } of failed) {
    headline(`${name}: FAILED`);
    console.log(said.trimEnd());
  }
  if (failed.length || waiting.length) {
    headline("FAILED");
    for (const { name } of failed) console.log(`${name} failed`);
    for (const { name } of waiting) console.log(`${name} did not run`);
  }
  return { ok: !failed.length && !waiting.length, said: all.join("\n") };
}
