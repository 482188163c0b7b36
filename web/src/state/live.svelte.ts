// One session as it is looked at: its timeline from the newest page on, followed live, older pages as they are wanted.
import { Frames } from "../lib/frames.ts";
import { memory, newestPage } from "../lib/memory.ts";
import { Timeline } from "../lib/timeline.ts";
import { ConnectionLost, Refusal } from "../lib/socket.ts";
import type { Event, EventPage, Problem, Session, TimelineItem, TimelinePage } from "../lib/contract.ts";
import { connection } from "./connection.svelte.ts";
import { sessions } from "./sessions.svelte.ts";
import { pendingCommands } from "./pending-commands.svelte.ts";

const PAGE = 60;
/** What is seen is written down so often at most. */
const KEEP_EVERY = 3_000;
/** When more events than that were missed, the newest page is quicker than all of them. */
const TOO_FAR_BEHIND = 3_000;

export class Live {
  items = $state.raw<TimelineItem[]>([]);
  loaded = $state(false);
  problem = $state.raw<Problem | undefined>();
  /** How many events came at once after a reconnect; shown for a moment. */
  caughtUp = $state(0);
  loadingOlder = $state(false);
  hasOlder = $state(false);
  /** When this was seen, as long as it comes from an earlier visit. */
  asOf = $state<number | undefined>();
  /** Counts pages that were put before, for whoever keeps the scroll position. */
  prepended = $state(0);

  private timeline: Timeline | undefined;
  private frames = new Frames(() => this.draw());
  private catchUpTo = 0;
  private missed = 0;
  /** Prompts of ours, or of others, that have come to the log since the last drawing. */
  private arrived: string[] = [];
  private connecting: Promise<void> | undefined;
  /** Whether this page has followed it before: only then something was missed. */
  private met = false;
  private keeping: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly session: string) {}

  /** Called whenever there is a new connection: goes on after the last event that is here. */
  connect(): Promise<void> {
    this.connecting ??= this.subscribe().finally(() => (this.connecting = undefined));
    return this.connecting;
  }

  /** Shows what an earlier visit saw, until the hub says more. */
  async recall(): Promise<void> {
    const kept = await memory.page(this.session);
    if (!kept || this.timeline) return;
    if (!sessions.all.has(this.session)) sessions.put(kept.row);
    this.timeline = Timeline.from(kept.page);
    this.asOf = kept.at;
    this.loaded = true;
    this.draw();
  }

  take(event: Event): void {
    const timeline = this.timeline;
    if (!timeline) return;
    timeline.apply(event);
    if (event.type === "prompt_queued" && event.payload.key) this.arrived.push(event.payload.key);
    if (timeline.astray) void this.older();
    this.frames.ask();
  }

  async resume(problem: Problem | undefined): Promise<void> {
    if (problem && !problem.retry && problem.code !== "after_ahead") this.problem = problem;
    else await this.connect();
  }

  /** It was deleted while it was looked at. */
  gone(): void {
    this.refused({ code: "unknown_session", status: 404, title: "this session was deleted", retry: false });
  }

  leave(): void {
    void connection.call("unsubscribe", { session: this.session }).catch(() => {});
  }

  /** Puts the next older page before what is here. */
  async older(): Promise<void> {
    const timeline = this.timeline;
    if (!timeline || timeline.older === null || this.loadingOlder) return;
    this.loadingOlder = true;
    try {
      const page = await connection.call("timeline", {
        session: this.session,
        before: timeline.older,
        limit: PAGE,
      });
      if (timeline !== this.timeline) return;
      if (timeline.prepend(page)) await this.mend(timeline, page.head);
      this.prepended += 1;
      this.draw();
    } catch (error) {
      if (!(error instanceof ConnectionLost || error instanceof Refusal)) throw error;
    } finally {
      this.loadingOlder = false;
    }
  }

  /** The page was read a moment before the last events came: its things are told of them. */
  private async mend(timeline: Timeline, from: number): Promise<void> {
    for (let after: number | null = from; after !== null && after < timeline.head;) {
      const missed: EventPage = await connection.call("events", {
        session: this.session,
        after,
        limit: 1_000,
      });
      timeline.mend(missed.events);
      after = missed.next;
    }
  }

  /** Pages back until an event is here, as far as that is bearable. */
  async until(seq: number): Promise<void> {
    for (let page = 0; page < 200 && this.timeline?.older != null && (this.timeline.items[0]?.seq ?? 0) > seq; page++) {
      const before = this.timeline.older;
      await this.older();
      if (this.timeline.older === before) return;
    }
  }

  /** All items, for the sums of a whole session. */
  async all(): Promise<TimelineItem[]> {
    const pages: TimelineItem[][] = [];
    let before: number | null = null;
    do {
      const page: TimelinePage = await connection.call("timeline", {
        session: this.session,
        limit: 500,
        ...(before !== null && { before }),
      });
      pages.unshift(page.items);
      before = page.next;
    } while (before !== null && pages.length < 100);
    return pages.flat();
  }

  private async subscribe(): Promise<void> {
    try {
      const session = await connection.call("session", { session: this.session });
      sessions.put(session);
      const behind = session.head - (this.timeline?.head ?? 0);
      if (!this.timeline || behind < 0 || behind > TOO_FAR_BEHIND) await this.restart();
      else if (behind > 0 && this.met) [this.catchUpTo, this.missed] = [session.head, behind];
      const timeline = this.timeline as Timeline | undefined;
      if (timeline) await connection.call("subscribe", { session: this.session, after: timeline.head });
      this.problem = undefined;
      this.asOf = undefined;
      this.met = true;
    } catch (error) {
      if (error instanceof Refusal) this.refused(error.problem);
      else if (!(error instanceof ConnectionLost)) throw error;
    }
  }

  /** One that is gone is gone here too. */
  private refused(problem: Problem): void {
    this.problem = problem;
    if (problem.code === "unknown_session") void memory.forget(this.session);
  }

  /** Writes down what is seen, now and then. */
  private keep(): void {
    this.keeping ??= setTimeout(() => {
      this.keeping = undefined;
      const [timeline, row] = [this.timeline, sessions.all.get(this.session)];
      if (timeline && row && this.met)
        void memory.keepPage({
          session: this.session,
          at: Date.now(),
          row,
          page: newestPage(timeline.items, timeline.head, timeline.older),
        });
    }, KEEP_EVERY);
  }

  private async restart(): Promise<void> {
    const page = await connection.call("timeline", { session: this.session, limit: PAGE });
    this.timeline = Timeline.from(page);
    this.loaded = true;
    this.draw();
  }

  private draw(): void {
    const timeline = this.timeline;
    if (!timeline) return;
    this.items = [...timeline.items];
    this.hasOlder = timeline.older !== null;
    this.keep();
    pendingCommands.outbox.reached(this.session, timeline.head);
    // The event may be here before the answer; then nothing has to stand in for it either.
    if (this.arrived.length) pendingCommands.outbox.arrived(this.arrived.splice(0));
    if (this.missed && timeline.head >= this.catchUpTo) {
      this.caughtUp = this.missed;
      this.missed = 0;
      setTimeout(() => (this.caughtUp = 0), 5_000);
    }
  }
}
