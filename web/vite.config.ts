// Builds the app and, beside it, the service worker that knows the app's files by name.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { build, defineConfig, type Plugin } from "vite";

/** Where the hub is while the app is worked on. */
const HUB = process.env["LONGSHORE_HUB"] ?? "http://127.0.0.1:8790";
/** What the hub will send with every page; worked under here too, so that nothing depends on less. */
const POLICY =
  "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; frame-ancestors 'none'; " +
  "form-action 'none'; object-src 'none'";

/** After the app is written: the worker, with the list of all that the first screen needs. */
function worker(): Plugin {
  return {
    name: "service-worker",
    apply: "build",
    async closeBundle() {
      const manifest: Record<string, { file: string; css?: string[]; isEntry?: boolean }> = JSON.parse(
        readFileSync("dist/.vite/manifest.json", "utf8"),
      );
      const built = Object.entries(manifest)
        // Colours for code can wait for the network.
        .filter(([source]) => !source.includes("highlight.js"))
        .flatMap(([, chunk]) => [chunk.file, ...(chunk.css ?? [])]);
      const icons = readdirSync("public/icons").map((name) => `icons/${name}`);
      const files = [
        "/",
        "/manifest.webmanifest",
        ...new Set([...built.filter((file) => !file.endsWith(".html")), ...icons].map((file) => `/${file}`)),
      ];
      const hash = createHash("sha256").update(files.join()).update(readFileSync("dist/index.html")).digest("hex");
      const name = `shell-${hash.slice(0, 12)}`;
      await build({
        configFile: false,
        logLevel: "warn",
        publicDir: false,
        define: { __SHELL__: JSON.stringify({ name, files }) },
        build: {
          outDir: "dist",
          emptyOutDir: false,
          rollupOptions: { input: join("src", "sw.ts"), output: { format: "iife", entryFileNames: "sw.js" } },
        },
      });
    },
  };
}

const proxy = Object.fromEntries(
  ["/api", "/admin", "/pair/", "/health"].map((path) => [
    path,
    { target: HUB, changeOrigin: true, ws: true, headers: { origin: HUB } },
  ]),
);

export default defineConfig({
  plugins: [svelte(), worker()],
  server: { proxy },
  preview: { proxy, headers: { "content-security-policy": POLICY } },
  build: {
    target: "es2023",
    manifest: true,
    modulePreload: { polyfill: false },
    // Everything is a file of its own: an inlined one would need a looser policy.
    assetsInlineLimit: 0,
  },
});
