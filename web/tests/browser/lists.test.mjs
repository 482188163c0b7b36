// Lists as they were left, what is read without a hub, the way in, what a search leads to.
import assert from "node:assert/strict";
import { DESKTOP, controlled, hearing, prompt, quiet, roomForCode, until, withCommands } from "./browser.mjs";
import { scene } from "./given.mjs";
import { long, varied, week } from "./scenes.mjs";

/** How much of an earlier visit is on disk. */
const kept = (page) =>
  page.evaluate(
    () =>
      new Promise((done, failed) => {
        const request = indexedDB.open("longshore");
        request.onerror = () => failed(request.error);
        request.onsuccess = () => {
          const db = request.result;
          const stores = [...db.objectStoreNames];
          if (!stores.length) return (db.close(), done(0));
          const deed = db.transaction(stores, "readonly");
          const counts = stores.map((name) => deed.objectStore(name).count());
          deed.oncomplete = () => (db.close(), done(counts.reduce((sum, one) => sum + one.result, 0)));
        };
      }),
  );

scene(
  "what was read is read again without the hub, and is gone when the device is revoked",
  async ({ open, hub, stage }) => {
    const session = await hub.take(varied(`${stage.work}/kept`));
    const { code } = await hub.admin("POST", "/admin/pair/new", { mode: "full" });
    const page = await open({ signedIn: false, path: `/pair#${code}`, serviceWorkers: "allow" });
    await page.getByLabel("Name of this device").fill("Reader");
    await page.getByRole("button", { name: "Pair" }).click();
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    await page.goto(`${stage.url}/sessions/${session}`);
    await page.getByText("The answer of the second turn.").waitFor();
    await controlled(page);
    await until("a list and a page on disk", async () => (await kept(page)) >= 2);
    await page.context().setOffline(true);
    await page.reload();
    await page.getByText("The answer of the second turn.").waitFor();
    await page
      .getByText(/As of \d/)
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Back", exact: true }).click();
    await page.locator(".list [data-row]").first().waitFor();
    await page.getByText(/Can't reach the hub · as of \d/).waitFor();
    await page.context().setOffline(false);
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await page.getByText(/as of \d/i).waitFor({ state: "detached" });

    // What was said without a hub is not said by whoever has the device next.
    await page.goto(`${stage.url}/sessions/${session}`);
    await page.getByText("The answer of the second turn.").waitFor();
    await page.context().setOffline(true);
    await page.getByText("Offline").waitFor();
    await prompt(page).fill("hail from a device that is sent away");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/Will be sent when you're back online/).waitFor();
    const { devices } = await hub.call("GET", "/devices");
    await hub.call("DELETE", `/devices/${devices.find((one) => one.label === "Reader" && !one.revokedAt).id}`);
    await page.context().setOffline(false);
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await page.getByText("This device was revoked").waitFor();
    await until("nothing left on disk", async () => (await kept(page)) === 0);
  },
);

scene("whoever comes back finds the list as it was left", async ({ open, hub, stage }) => {
  for (let round = 0; round < 6; round++) for (const log of week(`${stage.work}/${round}`)) await hub.take(log);
  const page = await open({ path: "/sessions" });
  const rows = page.locator(".list .rows");
  await page.locator(".list [data-row]").first().waitFor();
  await until("a list that scrolls", () => rows.evaluate((list) => list.scrollHeight > list.clientHeight + 600));
  await page.getByRole("radio", { name: "Idle" }).click();
  await until("the scroll", () => rows.evaluate((list) => (list.scrollTo(0, 480), list.scrollTop > 400)));
  await quiet(page);
  const at = await rows.evaluate((list) => list.scrollTop);
  // One that is in sight: a click elsewhere would scroll.
  await page.evaluate(() =>
    [300, 340, 380, 420]
      .map((y) => document.elementFromPoint(innerWidth / 3, y).closest(".session a"))
      .find(Boolean)
      .click(),
  );
  await page.getByRole("button", { name: "Back", exact: true }).click();
  await until("the same place", async () => Math.abs((await rows.evaluate((list) => list.scrollTop)) - at) < 60);
  assert.equal(await page.getByRole("radio", { name: "Idle" }).getAttribute("aria-checked"), "true");

  await page.getByLabel("Search everything").fill("index");
  const hit = page.getByRole("region", { name: "Found" }).getByRole("link").first();
  await hit.waitFor();
  await hearing(page.locator(".place.marked"), () => hit.click());
  await page.getByRole("button", { name: "Back", exact: true }).click();
  await until(
    "the words of the search",
    async () => (await page.getByLabel("Search everything").inputValue()) === "index",
  );
  assert.deepEqual(page.complaints, []);
});

scene(
  "filters are radios: one stop for Tab, arrows within",
  async ({ open }) => {
    const page = await open({ path: "/sessions" });
    const all = page.getByRole("radio", { name: "All" });
    await all.focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("radio", { name: "Needs you", checked: true }).waitFor();
    await page.keyboard.press("End");
    await until(
      "the last one",
      async () => (await page.evaluate(() => document.activeElement.textContent)) === "Archive",
    );
    assert.equal(await page.locator("[role=radiogroup] [role=radio][tabindex='0']").count(), 1);
  },
  { anywhere: true },
);

scene("whoever pairs on the way to a session arrives there", async ({ open, hub, stage }) => {
  const session = await hub.take(varied(`${stage.work}/deep`));
  const page = await open({ signedIn: false, path: `/sessions/${session}` });
  await page.getByText("This device isn't paired").waitFor();
  const { code } = await hub.admin("POST", "/admin/pair/new", { mode: "read_only" });
  await page.goto(`${stage.url}/pair#${code}`);
  await page.getByRole("button", { name: "Pair" }).click();
  await page.waitForURL(`**/sessions/${session}`);
  await page.getByText("The answer of the second turn.").waitFor();

  // On the way out nothing is left.
  await page.goto(`${stage.url}/machines`);
  await page.getByRole("button", { name: /Sign out/ }).click();
  await page.getByRole("button", { name: /Really sign out/ }).click();
  await page.getByText("This device isn't paired").waitFor();
});

scene("a code for a phone says when no phone can reach it", async ({ open, stage }) => {
  const page = await open({ path: "/machines" });
  await page.getByRole("button", { name: "Pair a device" }).click();
  await roomForCode(stage);
  await page.getByRole("button", { name: "Show a code" }).click();
  await page.getByText(/No phone reaches this address: the hub listens only on its own computer/).waitFor();
  await page.getByText(/--bind 0\.0\.0\.0/).waitFor();
  await page.getByText(/One use, expires in/).waitFor();
});

scene("a code for a phone leads to any address of the hub", async ({ open, stage }) => {
  const page = await open({ path: "/machines" });
  // The hub of the stage listens on loopback; to this page it says where others would find it.
  const addresses = ["https://192.168.1.5:8790", "https://100.64.0.7:8790"];
  await page.route(/\/admin\/pair\/new/, async (route) => {
    const made = await (await route.fetch()).json();
    await route.fulfill({ json: { ...made, pairUrl: `${addresses[0]}/pair#${made.code}`, addresses } });
  });
  const drawn = [];
  await page.route(
    /qr\.svg/,
    (route) => (
      drawn.push(new URL(route.request().url()).searchParams.get("address")),
      route.fulfill({ contentType: "image/svg+xml", body: "<svg xmlns='http://www.w3.org/2000/svg'/>" })
    ),
  );
  await page.getByRole("button", { name: "Pair a device" }).click();
  await roomForCode(stage);
  await page.getByRole("button", { name: "Show a code" }).click();
  await page.getByText(/^https:\/\/192\.168\.1\.5:8790\/pair#/).waitFor();
  assert.equal(await page.getByText(/No phone reaches/).count(), 0);
  await page.getByRole("radio", { name: "100.64.0.7:8790" }).click();
  await page.getByText(/^https:\/\/100\.64\.0\.7:8790\/pair#/).waitFor();
  await page.getByRole("radio", { name: "100.64.0.7:8790", checked: true }).waitFor();
  assert.deepEqual(drawn, [null, addresses[1]]);
  assert.deepEqual(page.complaints, []);
});

scene("a slash finds commands by any part, and says when there are none", async ({ open, hub, stage }) => {
  const some = await hub.take(varied(`${stage.work}/slash`));
  const page = await open({ path: "/machines" });
  await withCommands(
    page,
    Array.from({ length: 20 }, (_, at) => ({
      name: `team:command-${at}`,
      description: "does something that takes more than a line to say on a phone, and then some more",
    })),
  );
  await page.goto(`${stage.url}/sessions/${some}`);
  await prompt(page).fill("/mand-1");
  await until("those that have it", async () => (await page.getByLabel("Commands").getByRole("button").count()) === 11);
  const other = await open({ path: `/sessions/${some}` });
  await prompt(other).fill("/");
  await other.getByText(/has no commands here/).waitFor();
  assert.deepEqual([page.complaints, other.complaints], [[], []]);
});

scene("an agent that did not tell its models is asked again", async ({ open, stage }) => {
  const page = await open({ path: "/machines" });
  let asked = 0;
  await page.routeWebSocket(/\/api\/v1\/socket/, (socket) => {
    const hub = socket.connectToServer();
    socket.onMessage((message) => {
      const { id, method } = JSON.parse(message);
      if (method !== "models" || asked++) return hub.send(message);
      // As a hub answers whose machine is busy.
      socket.send(
        JSON.stringify({
          jsonrpc: "2.0",
          id,
          error: {
            code: -32000,
            message: "the agent did not answer in time",
            data: { code: "anchor_silent", status: 504, title: "the agent did not answer in time", retry: true },
          },
        }),
      );
    });
    hub.onMessage((message) => {
      const told = JSON.parse(message);
      // Nobody has asked it before.
      for (const agent of told.result?.agents ?? []) delete agent.models;
      socket.send(JSON.stringify(told));
    });
  });
  await page.goto(`${stage.url}/new?agent=codex`);
  await page.getByText(/The models could not be loaded: the agent did not answer in time/).waitFor();
  await page.getByRole("button", { name: "Try again" }).click();
  await until("the models", async () => (await page.getByLabel("Model").locator("option").count()) > 1);
  assert.deepEqual(page.complaints, []);
});

scene("archiving can be undone, and rows have a menu on a desktop too", async ({ open, hub, stage }) => {
  const session = await hub.take(varied(`${stage.work}/archived`));
  const page = await open({ size: DESKTOP, path: `/sessions/${session}` });
  await page.getByText("The answer of the second turn.").waitFor();
  assert.equal(
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Sessions" }).count(),
    0,
    "the list is beside",
  );
  await page.locator("aside .session", { hasText: "A varied session" }).first().hover();
  await page.locator("aside").getByRole("button", { name: "More about A varied session" }).first().click();
  await hearing(page.getByRole("button", { name: "Undo" }), () =>
    page.getByRole("button", { name: "Archive", exact: true }).click(),
  );
  await page.getByRole("button", { name: "Undo" }).click();
  await until("it is back", async () => !(await hub.session(session)).archived);
  assert.deepEqual(page.complaints, []);
});

scene("more sessions come while one scrolls, without a button", async ({ open, hub, stage }) => {
  const made = 210;
  for (let at = 0; at < made; at++) await hub.take(long(`${stage.work}/many`, 8));
  const page = await open({ path: "/sessions" });
  const rows = page.locator(".list .rows");
  await page.locator(".list [data-row]").first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Older sessions" }).count(), 0);
  const height = () => rows.evaluate((list) => list.scrollHeight);
  const before = await height();
  await until("more of them", async () => {
    await rows.evaluate((list) => list.scrollTo(0, list.scrollHeight));
    return (await height()) > before + 300;
  });
  assert.deepEqual(page.complaints, []);
});

scene("somebody without a session is shown the way to the first", async ({ open, stage }) => {
  const page = await open({ path: "/machines" });
  await page.getByRole("heading", { name: "Machines and devices" }).waitFor();
  // The hub of the stage has sessions; to this page it says that it has none.
  await page.routeWebSocket(/\/api\/v1\/socket/, (socket) => {
    const hub = socket.connectToServer();
    const lists = new Set();
    socket.onMessage((message) => {
      const { id, method } = JSON.parse(message);
      if (method === "sessions") lists.add(id);
      hub.send(message);
    });
    hub.onMessage((message) => {
      const told = JSON.parse(message);
      if (lists.has(told.id)) told.result = { sessions: [], next: null };
      else if (told.result?.approvals) told.result = { approvals: [], questions: [], interrupted: [], held: [] };
      else if (told.method === "session") return;
      socket.send(JSON.stringify(told));
    });
  });
  await page.evaluate(
    () =>
      new Promise((done) => {
        const request = indexedDB.deleteDatabase("longshore");
        request.onsuccess = request.onerror = request.onblocked = done;
      }),
  );
  await page.goto(`${stage.url}/`);
  await page.getByText("Start your first session").waitFor();
  await page.getByRole("link", { name: "Codex", exact: true }).click();
  await page.waitForURL("**/new?agent=codex");
});
