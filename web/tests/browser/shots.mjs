// Pictures of every screen of `longshore demo`, on a phone and a desktop, light and dark:
// `node tests/browser/shots.mjs FOLDER [WORD]`, where SHOTS=phone-light,desktop-dark takes only those. With `docs` as
// FOLDER: those that the documents show.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { client, launch, open, PHONE, quiet, WIDE } from "./browser.mjs";
import { serveDist } from "./dist.mjs";
import { BIN, ROOT } from "./stage.mjs";

const [folder = "shots", word = ""] = process.argv.slice(2);
const forDocs = folder === "docs";
const place = forDocs ? join(ROOT, "docs/pictures") : folder;
const kinds = process.env.SHOTS?.split(",");
mkdirSync(place, { recursive: true });

/** The demo, once all of it stands. */
async function startDemo() {
  const demo = spawn(BIN, ["demo", "--stay", "--yes", "--json", "--speed", "20"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const told = {};
  for await (const line of createInterface({ input: demo.stdout })) {
    Object.assign(told, JSON.parse(line));
    if (!told.ready) continue;
    const front = process.env.LONGSHORE_DIST ? await serveDist(process.env.LONGSHORE_DIST, () => told.url) : undefined;
    const stop = () => new Promise((done) => (demo.once("exit", done), demo.kill("SIGINT"), void front?.stop()));
    return { ...told, url: front?.url ?? told.url, stop };
  }
  throw new Error("the demo ended before it stood");
}

const EACH = ["phone-light", "phone-dark", "desktop-light", "desktop-dark"];

/** Name, path, what is done first, and which of them the documents show. */
const shots = ({ voucher, soak, rename, cleanup, button }) => [
  ["inbox", "/", undefined, EACH],
  ["sessions", "/sessions", undefined, EACH],
  ["session", `/sessions/${voucher}`, undefined, EACH],
  [
    "unfolded",
    `/sessions/${voucher}`,
    async (page) => {
      await page.locator(".timeline .fold").first().waitFor();
      await page.locator(".timeline .rows").evaluate((list) => list.scrollTo(0, 300));
      await quiet(page);
      await page.evaluate(() =>
        document.querySelectorAll(".timeline .fold [aria-expanded=false]").forEach((fold) => fold.click()),
      );
    },
  ],
  [
    "working",
    `/sessions/${soak}`,
    (page) => page.getByRole("textbox", { name: "Prompt", exact: true }).fill("and then the rest"),
  ],
  ["approval", `/sessions/${rename}`, undefined, ["phone-dark"]],
  ["risky", `/sessions/${cleanup}`],
  ["question", `/sessions/${button}`, undefined, ["phone-light"]],
  ["changes", `/sessions/${voucher}/changes`, undefined, EACH],
  ["new", "/new", undefined, EACH],
  ["machines", "/machines", undefined, EACH],
  [
    "pair-sheet",
    "/machines",
    async (page) => {
      await page.getByRole("button", { name: "Pair a device" }).click();
      await page.getByRole("button", { name: "Show a code" }).click();
    },
  ],
  ["usage", "/usage", undefined, EACH],
  ["search", "/sessions", (page) => page.getByLabel("Search everything").fill("total")],
  ["menu", `/sessions/${voucher}`, (page) => page.getByRole("button", { name: "More", exact: true }).click()],
  ["help", "/sessions", (page) => page.keyboard.press("?")],
  [
    "offline",
    `/sessions/${rename}`,
    async (page) => {
      await page.context().setOffline(true);
      await page.getByText("Offline").waitFor();
      await page.getByRole("button", { name: "Allow once" }).click();
    },
  ],
  ["welcome", "/pair"],
];

const demo = await startDemo();
const browser = await launch();
try {
  const hub = client(demo);
  for (const [mode, label] of [
    ["full", "Pixel"],
    ["approve", "Tablet in the kitchen"],
  ])
    await hub.paired(mode, label);
  for (const [name, path, act, shown = []] of shots(demo.sessions)) {
    if (!name.includes(word)) continue;
    for (const [where, size] of [
      ["phone", PHONE],
      ["desktop", WIDE],
    ]) {
      for (const dark of [false, true]) {
        const kind = `${where}-${dark ? "dark" : "light"}`;
        if (forDocs ? !shown.includes(kind) : kinds && !kinds.includes(kind)) continue;
        const page = await open(browser, demo, { size, dark, path });
        await page.locator("h1, h2").first().waitFor();
        await quiet(page);
        await act?.(page);
        await quiet(page);
        const file = join(place, `${name}-${kind}`);
        if (forDocs) {
          const cdp = await page.context().newCDPSession(page);
          const { data } = await cdp.send("Page.captureScreenshot", { format: "webp", quality: 70 });
          writeFileSync(`${file}.webp`, Buffer.from(data, "base64"));
        } else await page.screenshot({ path: `${file}.png` });
        if (page.complaints.length) console.log(name, kind, page.complaints.slice(0, 3));
        await page.context().close();
      }
    }
  }
} finally {
  await browser.close();
  await demo.stop();
}
