// What the hub pushes is shown by the service worker, and answered from there. The push service and the lock screen are
// the only parts that are played: a push is handed to the worker as the browser would, and a tap is told to it.
import assert from "node:assert/strict";
import { controlled, hearing, until } from "./browser.mjs";
import { scene } from "./given.mjs";

/** A page whose worker is awake, and the hands on it. */
async function awake(open, stage, path) {
  const page = await open({ path, serviceWorkers: "allow", permissions: ["notifications"] });
  await controlled(page);
  const cdp = await page.context().newCDPSession(page);
  const registered = new Promise((done) =>
    cdp.on(
      "ServiceWorker.workerRegistrationUpdated",
      ({ registrations }) => registrations[0] && done(registrations[0].registrationId),
    ),
  );
  await cdp.send("ServiceWorker.enable");
  const registrationId = await registered;
  const worker = page.context().serviceWorkers()[0] ?? (await page.context().waitForEvent("serviceworker"));
  // Only a real tap may bring a window to the front; what is asked for is noted instead.
  await worker.evaluate(() => {
    self.wanted = [];
    WindowClient.prototype.focus = async function () {
      self.wanted.push("focus");
      return this;
    };
    Clients.prototype.openWindow = async (url) => void self.wanted.push(url);
  });
  const shown = () =>
    worker.evaluate(async () =>
      (await registration.getNotifications()).map(({ title, body, actions }) => ({
        title,
        body,
        actions: actions.map(({ action, title }) => ({ action, title })),
      })),
    );
  return {
    page,
    shown,
    /** As a push service: again, until it is taken. */
    async push(message) {
      const [data, body] = typeof message === "string" ? [message, message] : [JSON.stringify(message), message.body];
      await until(`"${body}" as a notification`, async () => {
        await cdp.send("ServiceWorker.deliverPushMessage", { origin: stage.url, registrationId, data });
        return until(body, async () => (await shown()).some((one) => one.body === body), 3_000).then(
          () => true,
          () => false,
        );
      });
    },
    tap: (action, body) =>
      worker.evaluate(
        async ([action, body]) => {
          const all = await registration.getNotifications();
          const event = new NotificationEvent("notificationclick", {
            notification: all.find((one) => !body || one.body === body),
            action,
          });
          const work = [];
          event.waitUntil = (promise) => work.push(promise);
          dispatchEvent(event);
          await Promise.all(work);
        },
        [action, body],
      ),
    /** From here on the worker finds no page of ours. */
    alone: () => worker.evaluate(() => void (Clients.prototype.matchAll = async () => [])),
    wanted: () => worker.evaluate(() => self.wanted),
  };
}

const ACTIONS = [
  { action: "allow_once", title: "Allow" },
  { action: "deny", title: "Deny" },
];

// One scene: the browser closes the notifications of a page that is gone in its own time, also those of the next one.
scene("a push is shown; taps on it decide without a page, and lead to its session", async ({ open, hub, stage }) => {
  const [asks, says] = [
    (await hub.open({ prompt: "write a note, pushed" })).sessionId,
    (await hub.open({ prompt: "hail, pushed", mode: "full" })).sessionId,
  ];
  const { approval } = await hub.ask(asks);
  await hub.rest(says);
  const { page, push, shown, tap, wanted, alone } = await awake(open, stage, "/machines");
  const message = {
    kind: "approval",
    title: "shop · a note · codex",
    body: "wants to change note.md",
    session: asks,
    approval,
    url: `/sessions/${asks}`,
    actions: ACTIONS,
  };
  await push(message);
  assert.deepEqual(await shown(), [{ title: message.title, body: message.body, actions: ACTIONS }]);
  // A newer word about the same thing takes its place.
  await push({ ...message, body: "still wants to" });
  assert.equal((await shown()).length, 1);
  await tap("deny");
  assert.deepEqual(await shown(), []);
  const decided = async () =>
    (await hub.call("GET", `/sessions/${asks}/timeline`)).items.find((item) => item.kind === "approval")?.content
      .decision;
  assert.equal((await until("the decision", decided)).decision, "deny");

  // One that does not arrive must not look as if it had.
  await push(message);
  await tap("allow_once");
  assert.match((await shown())[0].body, /^Not sent: /);
  assert.equal((await decided()).decision, "deny");

  await push({
    kind: "finished",
    title: "shop · hail · codex",
    body: "Hail to you.",
    session: says,
    url: `/sessions/${says}`,
  });
  await tap("", "Hail to you.");
  await page.waitForURL(`**/sessions/${says}`);
  await page.getByText("Hail to you.").first().waitFor();
  assert.deepEqual(await wanted(), ["focus"]);

  // Without a page of ours, one is opened; and what is no message of ours is shown as it is.
  await alone();
  await push("plain words");
  await tap("", "plain words");
  await until("a window", async () => (await wanted()).includes(`${stage.url}/`));
});

scene("the switch for notifications shows what became of it, whoever refuses", async ({ open }) => {
  const page = await open({ path: "/machines", serviceWorkers: "allow", permissions: ["notifications"] });
  await controlled(page);
  const notifications = page.getByRole("checkbox", { name: "Notifications" });
  const subscribing = (refuses) =>
    page.evaluate((refuses) => {
      let subscription = null;
      const made = { toJSON: () => ({}), unsubscribe: async () => void (subscription = null) };
      PushManager.prototype.getSubscription = async () => subscription;
      PushManager.prototype.subscribe = async () => {
        if (refuses) throw new Error("Registration failed");
        return (subscription = made);
      };
    }, refuses);
  for (const [refuses, words] of [
    [true, "Registration failed"],
    [false, "The hub is full"],
  ]) {
    await subscribing(refuses);
    await page.route(/\/push\/subscribe$/, (route) =>
      route.fulfill({ status: 507, json: { code: "internal", status: 507, title: words, retry: false } }),
    );
    await hearing(page.getByText(words), () => notifications.click());
    await until(
      `off, for: ${words}`,
      async () => !(await notifications.isChecked()) && (await notifications.isEnabled()),
    );
  }
  await page.unrouteAll();
  await page.route(/\/push\/subscribe$/, (route) => route.fulfill({ json: {} }));
  await notifications.click();
  await page.getByRole("button", { name: "Test" }).waitFor();
  assert.equal(await notifications.isChecked(), true);
});
