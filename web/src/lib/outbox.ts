// The commands of a person, kept until the hub has answered: through a tunnel, a closed tab, a restart of the hub.
//
// A command has a key of its own. A prompt sends the key along, so the hub accepts the prompt once however often it
// arrives; the hub accepts a decision once anyway. The hub cannot recognise an opening that it has seen: one page sends
// it once, and when nobody knows whether it arrived, it counts as refused. The commands of one session go in order. A
// command that the hub refused is kept with its reason until the person has seen it.
import type { AnswerParams, ApprovalDecision, DecideParams, OpenParams, Problem, PromptParams } from "./contract.ts";
import { ConnectionLost, Refusal } from "./socket.ts";

/** A call that the outbox can send. The session and the key of a prompt are in its `NewCommand`. */
export type ClientCommand =
  | { method: "prompt"; params: Omit<PromptParams, "session" | "key"> }
  | { method: "decide"; params: DecideParams }
  | { method: "answer"; params: AnswerParams }
  | { method: "open"; params: OpenParams };

export type NewCommand = ClientCommand & {
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
  /** The event that recorded a prompt: until that is on the timeline, the command stands in for it. */
  seq?: number;
};

export type PendingCommand = NewCommand & Progress;

export type OutboxStore = {
  all(): Promise<PendingCommand[]>;
  put(command: PendingCommand): Promise<void>;
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

/** How many commands may wait. The app refuses further commands at once. */
export const MOST = 200;

export class Outbox {
  commands: PendingCommand[] = [];
  private busy = false;
  private again = false;
  /** The keys of those that are not on disk, or not yet. */
  private unkept = new Set<string>();
  /** How often everything was forgotten: what was read before does not come back. */
  private era = 0;

  constructor(
    private readonly store: OutboxStore,
    private readonly send: (command: PendingCommand) => Promise<unknown>,
    private readonly changed: () => void,
  ) {}

  /** Takes up what an earlier visit left. What was being sent then may or may not have arrived: it is sent again. */
  async load(): Promise<void> {
    const era = this.era;
    const kept = await this.store.all().catch(() => []);
    if (era !== this.era) return;
    const known = new Set(this.commands.map((command) => command.key));
    const waiting = kept
      .filter((command) => !known.has(command.key))
      .map((command) => (command.state === "sending" ? { ...command, ...unanswered(command) } : command));
    this.commands = [...waiting, ...this.commands].sort((a, b) => a.at - b.at);
    this.changed();
  }

  get full(): boolean {
    return this.commands.length >= MOST;
  }

  async add(command: NewCommand): Promise<void> {
    if (this.full) throw new Error(`${MOST} things wait to be sent already`);
    const kept: PendingCommand = { ...command, state: "waiting" };
    this.commands = [...this.commands, kept];
    this.changed();
    // Sent even where nothing can be kept (private browsing): then it lasts as long as the page.
    this.unkept.add(kept.key);
    await this.store
      .put(kept)
      .then(() => this.unkept.delete(kept.key))
      .catch(() => {});
    await this.flush();
  }

  /** Takes a command back, or drops a command that was refused. */
  async remove(key: string): Promise<void> {
    this.commands = this.commands.filter((command) => command.key !== key);
    this.changed();
    await this.store.remove(key).catch(() => {});
  }

  /** For somebody else, or for a device that was sent away. */
  async clear(): Promise<void> {
    this.era += 1;
    this.commands = [];
    this.changed();
    await this.store.clear().catch(() => {});
  }

  /** The timeline of a session has come this far: what stands in for events up to there can go. */
  reached(session: string, head: number): void {
    const over = this.commands.filter(
      (command) =>
        command.state === "done" && command.session === session && command.seq !== undefined && command.seq <= head,
    );
    for (const command of over) void this.remove(command.key);
  }

  /** The log has these: whatever becomes of the answers, these commands are done. */
  arrived(keys: string[]): void {
    for (const { key } of this.commands.filter((command) => keys.includes(command.key))) void this.remove(key);
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
        for (const { key } of this.commands.filter((command) => command.state === "waiting")) {
          const command = this.commands.find((other) => other.key === key);
          if (command && !(await this.attempt(command))) return;
        }
      } while (this.again);
    } finally {
      this.busy = false;
    }
  }

  /** False when there is no point in trying the next one. */
  private async attempt(command: PendingCommand): Promise<boolean> {
    // Only one page may open it; what is not on disk is known to no other.
    const once = command.method === "open";
    if (once && !this.unkept.has(command.key) && !(await this.store.claim(command.key).catch(() => true))) {
      this.commands = this.commands.filter((other) => other.key !== command.key);
      this.changed();
      return true;
    }
    this.become(command.key, { state: "sending" });
    try {
      const result = (await this.send(command)) as { seq?: number } | null;
      this.become(command.key, { state: "done", seq: result?.seq });
      await this.store.remove(command.key).catch(() => {});
    } catch (error) {
      if (error instanceof Refusal && !error.problem.retry) {
        if (isOurs(command, error.problem)) await this.remove(command.key);
        else this.become(command.key, { state: "refused", problem: error.problem }, true);
        return true;
      }
      const unsure = !(error instanceof Refusal) && !(error instanceof ConnectionLost && !error.sent);
      this.become(command.key, unsure ? unanswered(command) : { state: "waiting" }, once);
      if (!(error instanceof ConnectionLost) && !(error instanceof Refusal)) throw error;
      return false;
    }
    return true;
  }

  private become(key: string, more: Partial<Progress>, keep = false): void {
    this.commands = this.commands.map((command) => (command.key === key ? { ...command, ...more } : command));
    this.changed();
    const command = this.commands.find((other) => other.key === key);
    if (keep && command) void this.store.put(command).catch(() => {});
  }
}

/** What becomes of a command that was sent and not answered: sent again, where that does no harm. */
const unanswered = (command: PendingCommand): Progress =>
  command.method === "open" ? { state: "refused", problem: UNSURE } : { state: "waiting" };

/** The answer to a decision was lost and it was sent again: what the hub calls decided already was this very one. */
function isOurs(command: PendingCommand, problem: Problem): boolean {
  const made = problem.details?.["decision"] as ApprovalDecision | undefined;
  return (
    command.method === "decide" &&
    problem.code === "already_decided" &&
    made?.decision === command.params.decision &&
    (made?.message ?? undefined) === command.params.message
  );
}

/** A key that no other command has. `randomUUID` is missing on plain http. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
