// The list of sessions: their rows as the hub tells them, and as an earlier visit saw them until it does.
import type { Methods, QueuedPrompt, Session, SessionPage } from "../lib/contract.ts";
import { Frames } from "../lib/frames.ts";
import { putAway } from "../lib/groups.ts";
import { memory } from "../lib/memory.ts";
import { Refusal } from "../lib/socket.ts";
import { cutAsks, withWhole } from "../lib/whole.ts";
import { agents } from "./agents.svelte.ts";
import { connection } from "./connection.svelte.ts";

/** The list is written down so often at most. */
const KEEP_EVERY = 4_000;

/** The calls that answer with the session as it then stands. */
export type Changing = {
  [M in keyof Methods]: Methods[M]["result"] extends Session ? M : never;
}[keyof Methods];

class Sessions {
  all = $state.raw<ReadonlyMap<string, Session>>(new Map());
  listed = $state(false);
  /** When the list was seen, as long as it comes from an earlier visit. */
  asOf = $state<number | undefined>();
  /** The cursor of the next page of sessions. */
  more = $state<string | null>(null);
  /** The same of the archive, once some of it was asked for. */
  archive = $state<string | null | undefined>();

  /** Rows that came since the last drawing. */
  private changed = new Map<string, Session>();
  /** The sessions that are being asked for what their rows leave out. */
  private completing = new Set<string>();
  private keeping: ReturnType<typeof setTimeout> | undefined;
  private frames = new Frames(() => this.draw());

  /** Shows what an earlier visit saw, until the hub says more. */
  async recall(): Promise<void> {
    const kept = await memory.list();
    if (!kept || this.listed || connection.state === "denied") return;
    if (!agents.all.length) agents.all = kept.agents;
    this.all = new Map([...kept.sessions.map((row): [string, Session] => [row.sessionId, row]), ...this.all]);
    this.asOf = kept.at;
  }

  /** Nothing of what was seen is left on this page. */
  forget(): void {
    clearTimeout(this.keeping);
    this.keeping = undefined;
    this.all = new Map();
    this.archive = undefined;
    this.changed.clear();
    this.listed = false;
    this.asOf = undefined;
  }

  /** Takes a row over, as soon as the next frame is drawn. */
  put(session: Session): void {
    const id = session.sessionId;
    this.changed.set(id, withWhole(session, this.newest(id)));
    this.frames.ask();
  }

  private newest(session: string): Session | undefined {
    return this.changed.get(session) ?? this.all.get(session);
  }

  /** Asks for what a row leaves out of an ask: nobody decides on less than all of it. */
  private async complete(session: string): Promise<void> {
    if (this.completing.has(session)) return;
    this.completing.add(session);
    // When it does not come, the next connection asks anew.
    const whole = await connection.call("session", { session }).catch(() => undefined);
    this.completing.delete(session);
    const row = this.newest(session);
    const better = row && withWhole(row, whole);
    // An ask that is over by now is not there either: the row that says so is on its way.
    if (row && better && cutAsks(better) < cutAsks(row)) this.put(better);
  }

  /** The words of a prompt that waits as they were written; none when it no longer waits. */
  async promptWords(session: string, prompt: QueuedPrompt): Promise<string | undefined> {
    if (!prompt.cut) return prompt.text;
    const { queue } = await connection.call("session", { session });
    return queue?.find((one) => one.prompt === prompt.prompt)?.text;
  }

  /** A change of a session; its row is taken over from the answer. */
  async change<M extends Changing>(method: M, params: Methods[M]["params"]): Promise<Session> {
    const session: Session = await connection.call(method, params);
    this.put(session);
    return session;
  }

  async loadMore(archived = false): Promise<void> {
    const cursor = archived ? this.archive : this.more;
    const page = await connection.call("sessions", { limit: 200, archived, ...(cursor && { cursor }) });
    for (const session of page.sessions) this.put(session);
    this.draw();
    if (archived) this.archive = page.next;
    else this.more = page.next;
  }

  /** Lists anew, and calls `gone` for each session that was here and is no more. */
  async relist(gone: (session: string) => void): Promise<void> {
    const page = await connection.call("sessions", { limit: 200 });
    this.more = page.next;
    for (const session of page.sessions) this.put(session);
    // An approval may wait in a session that is too old for the first page.
    const { approvals, questions, interrupted, held } = await connection.call("approvals", {});
    for (const session of [...interrupted, ...held]) this.put(session);
    for (const session of this.changed.values()) this.put(withWhole(session, { approvals, questions }));
    const missing = new Set(
      [...approvals, ...questions].map((ask) => ask.session).filter((id) => !this.changed.has(id)),
    );
    // One that was waiting when the connection broke may be over by now, and too old for the page as well.
    for (const session of this.all.values())
      if (session.status === "active" && !this.changed.has(session.sessionId)) missing.add(session.sessionId);
    for (const session of missing) this.put(await connection.call("session", { session }));
    this.draw();
    this.listed = true;
    this.asOf = undefined;
    await this.askForMissing(page, gone);
  }

  /** What should be on the page by its age and is not was put away while nobody told us, or deleted. */
  private async askForMissing(page: SessionPage, gone: (session: string) => void): Promise<void> {
    const there = new Set(page.sessions.map((session) => session.sessionId));
    const oldest = page.next === null ? "" : (page.sessions.at(-1)?.updatedAt ?? "");
    const missing = [...this.all.values()].filter(
      (session) => !putAway(session) && !session.parent && session.updatedAt > oldest && !there.has(session.sessionId),
    );
    for (const { sessionId } of missing) {
      try {
        this.put(await connection.call("session", { session: sessionId }));
      } catch (error) {
        if (!(error instanceof Refusal && error.problem.code === "unknown_session")) throw error;
        gone(sessionId);
      }
    }
  }

  remove(session: string): void {
    this.changed.delete(session);
    if (this.all.has(session)) {
      const left = new Map(this.all);
      left.delete(session);
      this.all = left;
    }
    this.keep();
  }

  private keep(): void {
    this.keeping ??= setTimeout(() => {
      this.keeping = undefined;
      if (this.listed) void memory.keepList(this.all.values(), agents.all);
    }, KEEP_EVERY);
  }

  private draw(): void {
    if (!this.changed.size) return;
    const sessions = new Map(this.all);
    for (const [id, session] of this.changed) sessions.set(id, session);
    const cut = [...this.changed.values()].filter((session) => cutAsks(session));
    this.changed.clear();
    this.all = sessions;
    for (const { sessionId } of cut) void this.complete(sessionId);
    this.keep();
  }
}

export const sessions = new Sessions();
