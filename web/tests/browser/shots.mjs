// Pictures of every screen, on a phone and a desktop, light and dark: `node tests/browser/shots.mjs FOLDER [WORD]`.
// SHOTS=phone-light,desktop-dark takes only those.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { client, DESKTOP, launch, open, PHONE, until } from "./browser.mjs";
import { steps, week } from "./scenes.mjs";
import { startStage } from "./stage.mjs";

const [folder = "shots", word = ""] = process.argv.slice(2);
const kinds = process.env.SHOTS?.split(",");
mkdirSync(folder, { recursive: true });

/** What a hub without these calls does not answer, so that their screens can be looked at all the same. */
async function pretend(page) {
  const now = Date.now();
  const ago = (hours) => new Date(now - hours * 3_600_000).toISOString();
  const agents = ["claude", "codex", "gemini"];
  const days = Array.from({ length: 30 }, (_, at) => new Date(now - at * 86_400_000).toISOString().slice(0, 10)).flatMap((day, at) =>
    agents.slice(0, 1 + (at % 3)).map((agent, n) => ({ day, agent, project: ["shop", "api", "notes"][(at + n) % 3], input: 40_000 + ((at * 7_919 + n * 104_729) % 160_000), output: 2_000 + ((at * 3_571) % 9_000), cached: 30_000, cost: 0.2 + ((at * 37 + n * 11) % 90) / 40 })),
  );
  const answers = {
    "/api/v1/usage": { days },
    "/api/v1/devices": { devices: [{ id: "a", label: "Pixel", mode: "full", createdAt: ago(400), lastUsedAt: ago(0.2) }, { id: "b", label: "Tablet in the kitchen", mode: "approve", createdAt: ago(90), lastUsedAt: ago(30) }] },
    "/api/v1/folders": { path: "/home/dev", parent: "/home", folders: ["api", "notes", "shop"], recent: ["/home/dev/shop"] },
    "/admin/pair/new": { code: "K7WM3QXD", expiresAt: new Date(now + 290_000).toISOString(), pairUrl: "/pair#K7WM3QXD" },
  };
  for (const [path, json] of Object.entries(answers)) {
    await page.route((url) => url.pathname === path, async (route) => {
      const real = await route.fetch().catch(() => undefined);
      await (real?.ok() ? route.fulfill({ response: real }) : route.fulfill({ json }));
    });
  }
}

const stage = await startStage(steps);
const browser = await launch();
try {
  const hub = client(stage);
  for (const log of week(stage.work)) await hub.take(log);
  const done = await hub.open({ prompt: "fix the total", mode: "full" });
  await until("the fix", async () => (await hub.session(done.sessionId)).status !== "active");
  const waits = { push: await hub.open({ prompt: "release it" }), rename: await hub.open({ prompt: "rename the function" }), colour: await hub.open({ prompt: "which colour for the button?", mode: "plan" }) };
  const busy = await hub.open({ prompt: "speak at length", mode: "full" });
  await until("three asks", async () => {
    const { approvals, questions } = await hub.call("GET", "/approvals");
    return approvals.length + questions.length >= 3;
  });
  const at = (session, more = "") => `/sessions/${session.sessionId}${more}`;
  const shots = [
    ["inbox", "/"],
    ["sessions", "/sessions"],
    ["session", at(done)],
    ["unfolded", at(done), async (page) => {
      await page.locator(".fold").first().waitFor();
      await page.evaluate(() => document.querySelectorAll(".timeline .fold [aria-expanded=false]").forEach((fold) => fold.click()));
      await page.locator(".timeline .rows").evaluate((list) => list.scrollTo(0, 0));
    }],
    ["working", at(busy), (page) => page.getByLabel("Prompt").fill("and then the rest")],
    ["approval", at(waits.rename)],
    ["risky", at(waits.push)],
    ["question", at(waits.colour)],
    ["changes", at(done, "/changes")],
    ["new", "/new"],
    ["machines", "/machines"],
    ["pair-sheet", "/machines", async (page) => (await page.getByRole("button", { name: "Pair a device" }).click(), page.getByRole("button", { name: "Show a code" }).click())],
    ["usage", "/usage"],
    ["search", "/sessions", (page) => page.getByLabel("Search everything").fill("search")],
    ["menu", at(done), (page) => page.getByRole("button", { name: "More", exact: true }).click()],
    ["help", "/sessions", (page) => page.keyboard.press("?")],
    ["offline", at(waits.rename), async (page) => (await page.context().setOffline(true), await page.getByText("Not connected").waitFor(), page.getByRole("button", { name: "Allow once" }).click())],
    ["welcome", "/pair"],
  ];
  for (const [name, path, act] of shots.filter(([name]) => name.includes(word))) {
    for (const [where, size] of [["phone", PHONE], ["desktop", DESKTOP]]) {
      for (const dark of [false, true]) {
        const kind = `${where}-${dark ? "dark" : "light"}`;
        if (kinds && !kinds.includes(kind)) continue;
        const page = await open(browser, stage, { size, dark, path: "/health", signedIn: false });
        page.setDefaultTimeout(5_000);
        await pretend(page);
        await page.goto(`${stage.url}${path}?token=${stage.token}`);
        await page.waitForTimeout(900);
        await act?.(page)?.catch?.((error) => console.log(name, kind, String(error).split("\n")[0]));
        await page.waitForTimeout(500);
        await page.screenshot({ path: join(folder, `${name}-${kind}.png`) });
        if (page.complaints.length) console.log(name, where, page.complaints.slice(0, 3));
        await page.context().close();
      }
    }
  }
} finally {
  await browser.close();
  await stage.stop();
}
