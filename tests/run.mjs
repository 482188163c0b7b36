// Runs every check and every test. `make test` first prepares everything that the compilers need.
import { execFileSync } from "node:child_process";
import { command, perform } from "./parts.mjs";
import { build, run, unsteady } from "./programs.mjs";

/** The current text of the generated contracts. */
const contracts = () => execFileSync("sh", ["-c", "cat crates/*/contract/*"], { encoding: "utf8" });
const built = { tests: [], program: "" };
const ofTheWhole = ({ name }) => name === "longshore, tests";
/** Runs a part that only computes. It has a lower priority than the tests, which have deadlines. */
const aside = (line) => () => command("nice", ["-n", "5", "sh", "-c", line]);

// The longest parts come first. Parts that only compute run beside a part that drives agents or browsers. Two parts
// that drive agents or browsers would be unsteady together. Cargo locks its folder, so parts that compile wait for the
// build.
const begun = Date.now();
const before = contracts();
const { ok, said } = await perform([
  { name: "build", run: () => build(built) },
  { name: "agents", run: () => command("make", ["agents", "llama"]) },
  { name: "form", run: aside("cargo fmt --check") },
  { name: "web app", run: aside("npm run --prefix web check && npm run --prefix web test") },
  { name: "whole program", needs: ["build", "agents"], run: () => run(built.tests.filter(ofTheWhole)) },
  { name: "lints", needs: ["build"], run: aside("cargo clippy --workspace --all-targets -- -D warnings") },
  {
    name: "documentation",
    needs: ["build"],
    run: aside("RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --quiet"),
  },
  { name: "examples", needs: ["build"], run: aside("cargo test --workspace --doc") },
  { name: "fuzz", needs: ["build"], run: aside("make fuzz") },
  { name: "crates", needs: ["build", "agents"], run: () => run(built.tests.filter((one) => !ofTheWhole(one))) },
  {
    name: "browser",
    needs: ["build", "agents"],
    run: () =>
      command("npm", ["run", "--prefix", "web", "browser"], { env: { ...process.env, LONGSHORE_BIN: built.program } }),
  },
]);
// The tests of a contract rewrite it and fail once. The second try passes and would hide this failure.
const rewritten = contracts() !== before;
if (rewritten)
  console.log(
    "\nFAILED: a contract was out of date, and the tests wrote it anew. See `git diff`, and commit it if it is right.",
  );
for (const test of unsteady) console.log(`UNSTEADY, passed only at the second go: ${test}`);
// Adds up the counts that cargo and node print.
const passed = [...said.matchAll(/^(?:test result: \w+\.|ℹ pass|# pass) (\d+)/gm)].reduce((sum, [, n]) => sum + +n, 0);
const minutes = ((Date.now() - begun) / 60_000).toFixed(1);
console.log(`\ntest result: ${ok && !rewritten ? "ok" : "FAILED"}. ${passed} tests passed in ${minutes} minutes`);
process.exitCode = ok && !rewritten ? 0 : 1;
