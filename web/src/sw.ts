// The service worker: the app without a network, what the hub pushes, and answers from the lock screen.
/// <reference lib="webworker" />
import type { PushMessage } from "./lib/contract.ts";

declare const self: ServiceWorkerGlobalScope;
/** The files of this build and a name for them; put in when it is built. */
declare const __SHELL__: { name: string; files: string[] };

const SHELL = __SHELL__;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(SHELL.name)
      .then((cache) => cache.addAll(SHELL.files.map((file) => new Request(file, { cache: "reload" }))))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  const old = caches
    .keys()
    .then((names) =>
      Promise.all(
        names.filter((name) => name.startsWith("shell-") && name !== SHELL.name).map((name) => caches.delete(name)),
      ),
    );
  event.waitUntil(old.then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin) return;
  if (/^\/(api|admin|pair\/|health|metrics)/.test(url.pathname)) return;
  if (event.request.mode === "navigate") event.respondWith(page(event.request));
  else event.respondWith(kept(event.request).then((found) => found ?? fetch(event.request)));
});

/** The same file whatever else the request says: `Vary` is about encodings and origins, and these are our own files. */
const kept = (file: RequestInfo) => caches.match(file, { ignoreSearch: true, ignoreVary: true });

/** The page of the hub while it answers, so that a new one is seen at once; the kept one otherwise. */
async function page(request: Request): Promise<Response> {
  try {
    const fresh = await fetch(request, { signal: AbortSignal.timeout(4_000) });
    if (fresh.ok) return fresh;
  } catch {
    // No network, or no hub.
  }
  return (await kept("/")) ?? Response.error();
}

self.addEventListener("push", (event) => {
  const message = read(event.data);
  event.waitUntil(
    self.registration.showNotification(message.title, {
      body: message.body,
      icon: "/icons/icon-192.png",
      badge: "/icons/badge-96.png",
      // One notification per thing: a newer word about it takes the place of the older.
      tag: message.approval ?? message.session ?? message.kind,
      data: message,
      ...(message.actions && { actions: message.actions }),
    } as NotificationOptions),
  );
});

function read(data: PushMessageData | null): PushMessage {
  try {
    return data?.json() as PushMessage;
  } catch {
    return { kind: "test", title: "Longshore", body: data?.text() ?? "", url: "/" };
  }
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const message = event.notification.data as PushMessage;
  event.waitUntil(event.action && message.approval ? decide(message, event.action) : show(message));
});

/** An action of a notification is a decision; the cookie says who makes it. */
async function decide(message: PushMessage, action: string): Promise<void> {
  const decision = action === "allow" ? "allow_once" : action;
  try {
    const response = await fetch(`/api/v1/approvals/${encodeURIComponent(message.approval as string)}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ decision }),
      credentials: "same-origin",
    });
    if (response.ok) return;
    const problem = (await response.json().catch(() => ({}))) as { title?: string };
    await failed(message, problem.title ?? "the hub refused it");
  } catch {
    await failed(message, "the hub could not be reached");
  }
}

/** A decision that did not arrive must not look as if it had. */
function failed(message: PushMessage, why: string): Promise<void> {
  return self.registration.showNotification(message.title, {
    body: `Not sent: ${why}`,
    icon: "/icons/icon-192.png",
    tag: message.approval ?? message.kind,
    data: message,
  });
}

async function show(message: PushMessage): Promise<void> {
  const target = new URL(message.url ?? (message.session ? `/sessions/${message.session}` : "/"), location.origin);
  if (target.origin !== location.origin) return;
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const open = windows[0];
  if (!open) return void (await self.clients.openWindow(target.href));
  // It may not come to the front; it is there all the same.
  await open.focus().catch(() => {});
  open.postMessage({ go: target.pathname + target.search + target.hash });
}
