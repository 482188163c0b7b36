// Runs the test programs that cargo builds. Cargo does not run them itself, so other parts can run beside them. Many
// tests drive real programs, and the suite of the whole program drives real agents, which are other people's programs.
// If only a few tests fail, each of them runs once more, alone. A test that fails twice fails the run. A test that
// passes the second time is listed as unsteady.
import { availableParallelism } from "node:os";
import { basename, dirname } from "node:path";
import { command } from "./parts.mjs";

const MOST_UNSTEADY = 5;
const env = {
  ...process.env,
  // Property tests use the same cases in every run, as the fuzzers do. Another seed tries new cases.
  PROPTEST_RNG_SEED: process.env.PROPTEST_RNG_SEED ?? "1",
  // Tests with agents wait more than they compute, so there are more threads than cores.
  RUST_TEST_THREADS: process.env.RUST_TEST_THREADS ?? String(2 * availableParallelism()),
};

/** Tests that failed once and then passed. */
export const unsteady = [];
let failures = 0;

/** Builds all test programs, and the program itself. Each test program runs in the folder of its package. */
export async function build(built) {
  const args = ["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
  const { ok, out, err } = await command("cargo", args, { quiet: true });
  for (const line of out.split("\n").filter((line) => line.startsWith("{"))) {
    const { executable, profile, target, manifest_path: manifest } = JSON.parse(line);
    if (!executable) continue;
    const folder = dirname(manifest);
    const name = `${basename(folder)}, ${target.kind.includes("test") ? "tests" : `unit tests of ${target.name}`}`;
    if (profile.test) built.tests.push({ name, folder, executable });
    else if (target.name === "longshore") built.program = executable;
  }
  return { ok, said: err };
}

/** Runs test programs one after the other. */
export async function run(programs) {
  const [said, failed] = [[], []];
  let ok = programs.length > 0;
  for (const program of programs) {
    const whole = await play(program);
    said.push(`     Running ${program.name} (${program.executable})\n${whole.said}`);
    if (whole.ok) continue;
    // Only the list at the end is reliable: child processes may write between the earlier lines.
    const list = whole.out.slice(whole.out.lastIndexOf("\nfailures:\n"));
    const named = [...list.matchAll(/^ {4}([a-z0-9_:]+)$/gm)].map(([, test]) => test);
    const count = Number(list.match(/^test result: FAILED\..* (\d+) failed;/m)?.[1]);
    // A child process may also have written into the list, and a program that ended in another way has no list.
    ok &&= named.length === count;
    failed.push(...named.map((test) => ({ program, test })));
  }
  failures += failed.length;
  if (!ok || failures > MOST_UNSTEADY) return { ok: ok && !failed.length, said: said.join("\n") };
  for (const { program, test } of failed) {
    const again = await play(program, ["--exact", "--test-threads=1", test]);
    said.push(`Tried once more, by itself: ${test}\n${again.said}`);
    // A filter without a matching test passes as well, but then no test has run.
    if (again.ok && again.said.includes("test result: ok. 1 passed")) unsteady.push(test);
    else ok = false;
  }
  return { ok, said: said.join("\n") };
}

const play = ({ folder, executable }, args = []) =>
  command(executable, args, { cwd: folder, env: { ...env, CARGO_MANIFEST_DIR: folder } });
