// Sessions that a restart cut and that somebody here has told to go on. An agent may take long before it does, and until then
// each of them says that it is on its way, wherever it is seen.
import { SvelteSet } from "svelte/reactivity";
import type { Session } from "../lib/contract.ts";
import { interrupted } from "../lib/groups.ts";
import { hub } from "./hub.svelte.ts";
import { toasts } from "./toasts.svelte.ts";

/** Nobody says so when one that goes on later cannot: after this it may be tried again. */
const LONGEST = 60_000;

class Resuming {
  private readonly told = new SvelteSet<string>();

  has(session: Pick<Session, "sessionId" | "cutByRestart">): boolean {
    return session.cutByRestart && this.told.has(session.sessionId);
  }

  async one(session: string): Promise<void> {
    this.told.add(session);
    await toasts.trying(hub.change("resume", { session }));
    this.told.delete(session);
  }

  async all(): Promise<void> {
    const all = interrupted(hub.sessions.values()).map((session) => session.sessionId);
    for (const session of all) this.told.add(session);
    const answer = await toasts.trying(hub.call<{ resuming?: string[] }>("resumeAll"));
    const later = new Set(answer?.resuming);
    for (const session of all) if (!later.has(session)) this.told.delete(session);
    setTimeout(() => later.forEach((session) => this.told.delete(session)), LONGEST);
  }
}

export const resuming = new Resuming();
