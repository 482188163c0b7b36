// Sessions that a restart cut and that somebody here has told to go on. An agent may take long before it does, and
// until then each of them says that it is on its way, wherever it is seen.
import { SvelteSet } from "svelte/reactivity";
import type { Session } from "../lib/contract.ts";
import { interrupted } from "../lib/groups.ts";
import { connection } from "./connection.svelte.ts";
import { sessions } from "./sessions.svelte.ts";
import { toasts } from "./toasts.svelte.ts";

/** Nobody says so when one that goes on later cannot: after this it may be tried again. */
const LONGEST = 60_000;

class Resuming {
  private readonly underWay = new SvelteSet<string>();

  has(session: Pick<Session, "sessionId" | "cutByRestart">): boolean {
    return session.cutByRestart && this.underWay.has(session.sessionId);
  }

  async one(session: string): Promise<void> {
    this.underWay.add(session);
    await toasts.trying(sessions.change("resume", { session }));
    this.underWay.delete(session);
  }

  async all(): Promise<void> {
    const all = interrupted(sessions.all.values()).map((session) => session.sessionId);
    for (const session of all) this.underWay.add(session);
    const answer = await toasts.trying(connection.call("resumeAll", {}));
    const later = new Set(answer?.resuming);
    for (const session of all) if (!later.has(session)) this.underWay.delete(session);
    setTimeout(() => later.forEach((session) => this.underWay.delete(session)), LONGEST);
  }
}

export const resuming = new Resuming();
