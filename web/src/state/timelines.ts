// The timelines that are followed: those of the sessions that were looked at last.
import { untrack } from "svelte";
import type { Event, Problem } from "../lib/contract.ts";
import { connection } from "./connection.svelte.ts";
import { Live } from "./live.svelte.ts";

/** How many sessions are kept in mind after they were looked at. */
const REMEMBERED = 6;

class Timelines {
  private lives = new Map<string, Live>();

  has(session: string): boolean {
    return this.lives.has(session);
  }

  /** The timeline of a session, followed from now on. */
  follow(session: string): Live {
    return untrack(() => this.following(session));
  }

  private following(session: string): Live {
    const known = this.lives.get(session);
    this.lives.delete(session);
    const live = known ?? new Live(session);
    this.lives.set(session, live);
    if (!known) void live.recall();
    if (!known && connection.state === "open") void live.connect();
    for (const [id, old] of this.lives) {
      if (this.lives.size <= REMEMBERED) break;
      this.lives.delete(id);
      old.leave();
    }
    return live;
  }

  /** Goes on with all of them over a new connection. */
  async connect(): Promise<void> {
    await Promise.all([...this.lives.values()].map((live) => live.connect()));
  }

  take(event: Event): void {
    this.lives.get(event.sessionId)?.take(event);
  }

  resume(session: string, problem: Problem | undefined): void {
    void this.lives.get(session)?.resume(problem);
  }

  /** A session was deleted: whoever looks at it is told. */
  gone(session: string): void {
    this.lives.get(session)?.gone();
  }

  remove(session: string): void {
    this.lives.delete(session);
  }

  forget(): void {
    this.lives.clear();
  }
}

export const timelines = new Timelines();
