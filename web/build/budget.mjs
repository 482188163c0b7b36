// Fails when the first screen needs more JavaScript than a phone should have to fetch.
import { readFileSync, rmSync } from "node:fs";
import { gzipSync } from "node:zlib";

const MOST = 90_000;
const manifest = JSON.parse(readFileSync("dist/.vite/manifest.json", "utf8"));
const seen = new Set();
const follow = (name) => {
  if (seen.has(name)) return;
  seen.add(name);
  for (const other of manifest[name].imports ?? []) follow(other);
};
for (const [name, chunk] of Object.entries(manifest)) if (chunk.isEntry) follow(name);

const size = (file) => gzipSync(readFileSync(`dist/${file}`), { level: 9 }).length;
const files = [...seen].map((name) => manifest[name].file).filter((file) => file.endsWith(".js"));
const styles = new Set([...seen].flatMap((name) => manifest[name].css ?? []));
const total = files.reduce((sum, file) => sum + size(file), 0);
for (const file of [...files, ...styles]) console.log(`${String(size(file)).padStart(7)} B gzip  ${file}`);
console.log(`${String(total).padStart(7)} B gzip  initial JavaScript, of ${MOST}`);
if (total > MOST) {
  console.error("Too much. Load what the first screen does not need later (import()), or do without it.");
  process.exit(1);
}
// The list of files was for us; the program need not carry it.
rmSync("dist/.vite", { recursive: true });
