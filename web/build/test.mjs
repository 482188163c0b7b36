// Compiles the unit tests as the app is compiled, and runs them with node's own runner.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";

const names = readdirSync("tests/unit").filter((name) => name.endsWith(".test.ts"));
const outDir = mkdtempSync(join("node_modules", ".unit-"));
try {
  await build({
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      rollupOptions: {
        input: Object.fromEntries(names.map((name) => [name.replace(".ts", ""), join("tests/unit", name)])),
      },
    },
  });
  const built = readdirSync(outDir)
    .filter((name) => /\.test\.m?js$/.test(name))
    .map((name) => join(outDir, name));
  const run = spawnSync(process.execPath, ["--test", ...process.argv.slice(2), ...built], { stdio: "inherit" });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(outDir, { recursive: true, force: true });
}
