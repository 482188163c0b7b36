// Brings the page to life: what follows when the hub is there, says something, or no longer knows this device.
import type { Event, Problem, Session } from "../lib/contract.ts";
import { drafts } from "../lib/drafts.ts";
import { http } from "../lib/http.ts";
import { memory } from "../lib/memory.ts";
import { agents } from "./agents.svelte.ts";
import { connection, type Listener } from "./connection.svelte.ts";
import { removeSession } from "./remove.ts";
import { sessions } from "./sessions.svelte.ts";
import { time } from "./time.svelte.ts";
import { timelines } from "./timelines.ts";
import { pendingCommands } from "./pending-commands.svelte.ts";

const listener: Listener = { opened: () => void opened(), notified, denied: forget };
let started = false;

/** The first time, or as somebody else, or as the same with another token. */
export function start(): void {
  if (started) {
    connection.stop();
    forget();
    return connection.start(listener);
  }
  started = true;
  pendingCommands.isFollowed = (session) => timelines.has(session);
  void sessions.recall();
  connection.start(listener);
  void pendingCommands.outbox.load();
  setInterval(() => time.tick(), 20_000);
  // What the hub refused for the moment is tried again without a new reason.
  setInterval(() => void pendingCommands.outbox.flush(), 10_000);
  const poke = () => {
    time.tick();
    if (document.visibilityState === "visible") connection.poke();
  };
  addEventListener("online", poke);
  addEventListener("offline", () => connection.lost());
  addEventListener("pageshow", poke);
  addEventListener("focus", poke);
  document.addEventListener("visibilitychange", poke);
}

/** Gives the cookie back: this device is no longer known here. */
export async function signOut(): Promise<void> {
  await http("DELETE", "/pair/token");
  forget();
  connection.stop();
  location.assign("/");
}

/** Nothing of what was seen or begun is left on this device. */
function forget(): void {
  sessions.forget();
  timelines.forget();
  connection.me = undefined;
  drafts.forgetAll();
  void pendingCommands.outbox.clear();
  void memory.clear();
}

async function opened(): Promise<void> {
  agents.askAnew();
  try {
    const who = connection.askWho();
    await connection.call("watch", {});
    await relist();
    connection.me = await who;
    await pendingCommands.outbox.flush();
    await agents.load();
  } catch {
    // The link is gone again; the next one starts over.
  }
}

async function relist(): Promise<void> {
  const followed = timelines.connect();
  await sessions.relist(removeSession);
  await followed;
}

function notified(method: string, params: unknown): void {
  switch (method) {
    case "event":
      return timelines.take(params as Event);
    case "session":
      return sessions.put(params as Session);
    case "sessionDeleted": {
      const { session } = params as { session: string };
      timelines.gone(session);
      return removeSession(session);
    }
    case "relist":
      void relist().catch(() => {});
      return;
    case "resume": {
      const { session, problem } = params as { session: string; problem?: Problem };
      timelines.resume(session, problem);
    }
  }
}
