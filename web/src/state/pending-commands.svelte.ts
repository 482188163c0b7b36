// The commands that the hub has not answered yet, as the page shows them.
import { drafts, forgetAsk } from "../lib/drafts.ts";
import { giveBack } from "../lib/giveback.ts";
import { freshKey, Outbox, type PendingCommand, type ClientCommand } from "../lib/outbox.ts";
import { outboxStore } from "../lib/outbox-store.ts";
import { connection } from "./connection.svelte.ts";
import { sessions } from "./sessions.svelte.ts";
import { toasts } from "./toasts.svelte.ts";

/** How long the buttons of a decision stay away that has arrived: in a moment it shows as decided. */
const UNTIL_DECIDED = 3_000;

/** The approval or the question that a command is about. */
function askOf(command: PendingCommand): string | undefined {
  switch (command.method) {
    case "decide":
      return command.params.approval;
    case "answer":
      return command.params.question;
    case "prompt":
    case "open":
      return undefined;
  }
}

class PendingCommands {
  all = $state.raw<PendingCommand[]>([]);
  /** Grows with everything that is given back to whoever wrote it: then drafts are read again. */
  givenBack = $state(0);
  /** Whether a timeline will show the prompts of a session; whoever keeps the timelines says so. */
  isFollowed: (session: string) => boolean = () => false;
  readonly outbox = new Outbox(
    outboxStore,
    (command) => this.send(command),
    () => this.changed(),
  );

  async add(session: string, command: ClientCommand, says: string): Promise<void> {
    await this.outbox.add({ key: freshKey(), at: Date.now(), session, ...command, says });
  }

  /** Whether something more may wait to be sent; says so when not, before anything that was written is put away. */
  hasRoom(): boolean {
    if (this.outbox.full) toasts.say("The outbox is full. Try again when you're back online.", true);
    return !this.outbox.full;
  }

  /**
   * Takes a command back, or drops a command that was refused. Its text goes back to where the person wrote it.
   */
  takeBack(command: PendingCommand): void {
    giveBack(drafts, command);
    this.givenBack += 1;
    void this.outbox.remove(command.key);
  }

  /** The pending command for an approval or a question. */
  about(ask: string): PendingCommand | undefined {
    return this.all.find((command) => askOf(command) === ask);
  }

  private async send(command: PendingCommand): Promise<unknown> {
    switch (command.method) {
      case "prompt":
        return connection.call("prompt", { ...command.params, session: command.session, key: command.key });
      case "decide":
        return connection.call("decide", command.params);
      case "answer":
        return connection.call("answer", command.params);
      case "open":
        return sessions.change("open", command.params);
    }
  }

  private changed(): void {
    this.all = this.outbox.commands;
    for (const command of this.all) {
      if (command.state !== "done") continue;
      const ask = askOf(command);
      if (ask) forgetAsk(ask);
      // Nobody looks at that timeline, so nothing has to stand in for it.
      if (!this.isFollowed(command.session)) this.outbox.reached(command.session, Infinity);
      if (command.seq === undefined) setTimeout(() => void this.outbox.remove(command.key), UNTIL_DECIDED);
    }
  }
}

export const pendingCommands = new PendingCommands();
