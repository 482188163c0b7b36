// What the hub pushes is shown by the service worker, and answered from there. The push service and the lock screen are the
// only parts that are played: a push is handed to the worker as the browser would, and a tap is told to it.
import assert from "node:assert/strict";
import { until } from "./browser.mjs";
import { scene } from "./given.mjs";

/** A page whose worker is awake, and the hands on it. */
async function awake(open, stage, path) {
  const page = await open({ path, serviceWorkers: "allow", permissions: ["notifications"] });
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
  const cdp = await page.context().newCDPSession(page);
  const registered = new Promise((done) => cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => registrations[0] && done(registrations[0].registrationId)));
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
  return {
    page,
    push: (message) => cdp.send("ServiceWorker.deliverPushMessage", { origin: stage.url, registrationId, data: typeof message === "string" ? message : JSON.stringify(message) }),
    shown: () => worker.evaluate(async () => (await registration.getNotifications()).map(({ title, body, actions }) => ({ title, body, actions: actions.map(({ action, title }) => ({ action, title })) }))),
    tap: (action) => worker.evaluate(async (action) => {
      const event = new NotificationEvent("notificationclick", { notification: (await registration.getNotifications()).at(-1), action });
      const work = [];
      event.waitUntil = (promise) => work.push(promise);
      dispatchEvent(event);
      await Promise.all(work);
    }, action),
    /** From here on the worker finds no page of ours. */
    alone: () => worker.evaluate(() => void (Clients.prototype.matchAll = async () => [])),
    wanted: () => worker.evaluate(() => self.wanted),
  };
}

const ACTIONS = [{ action: "allow_once", title: "Allow" }, { action: "deny", title: "Deny" }];

scene("a push is shown, and a tap decides without a page", async ({ open, hub, stage }) => {
  const { sessionId } = await hub.open({ prompt: "write a note, pushed" });
  const { approval } = await hub.ask(sessionId);
  const { push, shown, tap } = await awake(open, stage, "/machines");
  const message = { kind: "approval", title: "shop · a note · codex", body: "wants to change note.md", session: sessionId, approval, url: `/sessions/${sessionId}`, actions: ACTIONS };
  await push(message);
  await until("the notification", async () => (await shown()).length === 1);
  assert.deepEqual(await shown(), [{ title: message.title, body: message.body, actions: ACTIONS }]);
  // A newer word about the same thing takes its place.
  await push({ ...message, body: "still wants to" });
  await until("the newer word", async () => (await shown())[0]?.body === "still wants to");
  assert.equal((await shown()).length, 1);
  await tap("deny");
  assert.deepEqual(await shown(), []);
  const { items } = await until("the decision", async () => {
    const timeline = await hub.call("GET", `/sessions/${sessionId}/timeline`);
    return timeline.items.some((item) => item.kind === "approval" && item.content.decision) && timeline;
  });
  assert.equal(items.find((item) => item.kind === "approval").content.decision.decision, "deny");

  // One that does not arrive must not look as if it had.
  await push(message);
  await until("the late one", async () => (await shown()).length === 1);
  await tap("allow_once");
  assert.match((await shown())[0].body, /^Not sent: /);
});

scene("a tap on a push leads to its session", async ({ open, hub, stage }) => {
  const { sessionId } = await hub.open({ prompt: "hail, pushed", mode: "full" });
  await hub.rest(sessionId);
  const { page, push, shown, tap, wanted, alone } = await awake(open, stage, "/machines");
  await push({ kind: "finished", title: "shop · hail · codex", body: "Hail to you.", session: sessionId, url: `/sessions/${sessionId}` });
  await until("the notification", async () => (await shown()).length === 1);
  await tap("");
  await page.waitForURL(`**/sessions/${sessionId}`);
  await page.getByText("Hail to you.").first().waitFor();
  assert.deepEqual(await wanted(), ["focus"]);

  // Without a page of ours, one is opened; and what is no message of ours is shown as it is.
  await alone();
  await push("plain words");
  await until("the words", async () => (await shown())[0]?.body === "plain words");
  await tap("");
  await until("a window", async () => (await wanted()).includes(`${stage.url}/`));
});
