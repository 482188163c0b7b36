// What a person wants done, kept until the hub has answered: through a tunnel, a closed tab, a restart of the hub.
//
// A wish has a key of its own. Prompts send it along, so the hub takes the same one once however often it arrives; a
// decision is taken once by nature. A session that is to be opened has no such luck: it is sent once, by one page, and
// when nobody knows whether it arrived, it counts as refused. Wishes of one session go in order, and one that is
// refused is kept with its reason until the person has seen it.
import type { AnswerParams, ApprovalDecision, DecideParams, OpenParams, Problem, PromptParams } from "./contract.ts";
import { ConnectionLost, Refusal } from "./socket.ts";

/** What can be wished for. The session and the key of a prompt are those of its wish. */
export type Wished =
  | { method: "prompt"; params: Omit<PromptParams, "session" | "key"> }
  | { method: "decide"; params: DecideParams }
  | { method: "answer"; params: AnswerParams }
  | { method: "open"; params: OpenParams };

export type NewWish = Wished & {
  key: string;
  /** The order in which they were made. */
  at: number;
  /** None for one that is to be opened. */
  session: string;
  /** In words, for the person. */
  says: string;
};

type Progress = {
  state: "waiting" | "sending" | "done" | "refused";
  problem?: Problem;
  /** The event that recorded a prompt: until that is on the timeline, the wish stands in for it. */
  seq?: number;
};

export type Wish = NewWish & Progress;

export type Shelf = {
  all(): Promise<Wish[]>;
  put(wish: Wish): Promise<void>;
  remove(key: string): Promise<void>;
  /** Marks one that waits as being sent; false when it does not wait there any more. */
  claim(key: string): Promise<boolean>;
  clear(): Promise<void>;
};

/** The answer to an opening did not come. */
const UNSURE: Problem = {
  status: 0,
  code: "unsure",
  title: "The connection was lost while it was being started. Look at the list, then start it again",
  retry: false,
};

/** How many wishes may wait; further ones are refused to the person's face. */
export const MOST = 200;

export class Outbox {
  wishes: Wish[] = [];
  private busy = false;
  private again = false;
  /** The keys of those that are not on disk, or not yet. */
  private unkept = new Set<string>();
  /** How often everything was forgotten: what was read before does not come back. */
  private era = 0;

  constructor(
    private readonly shelf: Shelf,
    private readonly send: (wish: Wish) => Promise<unknown>,
    private readonly changed: () => void,
  ) {}

  /** Takes up what an earlier visit left. What was being sent then may or may not have arrived: it is sent again. */
  async load(): Promise<void> {
    const era = this.era;
    const kept = await this.shelf.all().catch(() => []);
    if (era !== this.era) return;
    const known = new Set(this.wishes.map((wish) => wish.key));
    const waiting = kept
      .filter((wish) => !known.has(wish.key))
      .map((wish) => (wish.state === "sending" ? { ...wish, ...unanswered(wish) } : wish));
    this.wishes = [...waiting, ...this.wishes].sort((a, b) => a.at - b.at);
    this.changed();
  }

  get full(): boolean {
    return this.wishes.length >= MOST;
  }

  async add(wish: NewWish): Promise<void> {
    if (this.full) throw new Error(`${MOST} things wait to be sent already`);
    const kept: Wish = { ...wish, state: "waiting" };
    this.wishes = [...this.wishes, kept];
    this.changed();
    // Sent even where nothing can be kept (private browsing): then it lasts as long as the page.
    this.unkept.add(kept.key);
    await this.shelf
      .put(kept)
      .then(() => this.unkept.delete(kept.key))
      .catch(() => {});
    await this.flush();
  }

  /** Takes a wish back, or lets go of one that was refused. */
  async remove(key: string): Promise<void> {
    this.wishes = this.wishes.filter((wish) => wish.key !== key);
    this.changed();
    await this.shelf.remove(key).catch(() => {});
  }

  /** For somebody else, or for a device that was sent away. */
  async clear(): Promise<void> {
    this.era += 1;
    this.wishes = [];
    this.changed();
    await this.shelf.clear().catch(() => {});
  }

  /** The timeline of a session has come this far: what stands in for events up to there can go. */
  reached(session: string, head: number): void {
    const over = this.wishes.filter(
      (wish) => wish.state === "done" && wish.session === session && wish.seq !== undefined && wish.seq <= head,
    );
    for (const wish of over) void this.remove(wish.key);
  }

  /** The log has these: whatever becomes of the answers, what was wished is there. */
  arrived(keys: string[]): void {
    for (const { key } of this.wishes.filter((wish) => keys.includes(wish.key))) void this.remove(key);
  }

  /** Sends what waits. Called whenever there is reason to hope. */
  async flush(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    try {
      do {
        this.again = false;
        for (const { key } of this.wishes.filter((wish) => wish.state === "waiting")) {
          const wish = this.wishes.find((other) => other.key === key);
          if (wish && !(await this.attempt(wish))) return;
        }
      } while (this.again);
    } finally {
      this.busy = false;
    }
  }

  /** False when there is no point in trying the next one. */
  private async attempt(wish: Wish): Promise<boolean> {
    // Only one page may open it; what is not on disk is known to no other.
    const once = wish.method === "open";
    if (once && !this.unkept.has(wish.key) && !(await this.shelf.claim(wish.key).catch(() => true))) {
      this.wishes = this.wishes.filter((other) => other.key !== wish.key);
      this.changed();
      return true;
    }
    this.become(wish.key, { state: "sending" });
    try {
      const result = (await this.send(wish)) as { seq?: number } | null;
      this.become(wish.key, { state: "done", seq: result?.seq });
      await this.shelf.remove(wish.key).catch(() => {});
    } catch (error) {
      if (error instanceof Refusal && !error.problem.retry) {
        if (isOurs(wish, error.problem)) await this.remove(wish.key);
        else this.become(wish.key, { state: "refused", problem: error.problem }, true);
        return true;
      }
      const unsure = !(error instanceof Refusal) && !(error instanceof ConnectionLost && !error.sent);
      this.become(wish.key, unsure ? unanswered(wish) : { state: "waiting" }, once);
      if (!(error instanceof ConnectionLost) && !(error instanceof Refusal)) throw error;
      return false;
    }
    return true;
  }

  private become(key: string, more: Partial<Progress>, keep = false): void {
    this.wishes = this.wishes.map((wish) => (wish.key === key ? { ...wish, ...more } : wish));
    this.changed();
    const wish = this.wishes.find((other) => other.key === key);
    if (keep && wish) void this.shelf.put(wish).catch(() => {});
  }
}

/** What becomes of a wish that was sent and not answered: sent again, where that does no harm. */
const unanswered = (wish: Wish): Progress =>
  wish.method === "open" ? { state: "refused", problem: UNSURE } : { state: "waiting" };

/** The answer to a decision was lost and it was sent again: what the hub calls decided already was this very one. */
function isOurs(wish: Wish, problem: Problem): boolean {
  const made = problem.details?.["decision"] as ApprovalDecision | undefined;
  return (
    wish.method === "decide" &&
    problem.code === "already_decided" &&
    made?.decision === wish.params.decision &&
    (made?.message ?? undefined) === wish.params.message
  );
}

/** A key that no other wish has. `randomUUID` is missing on plain http. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
