// What a person wants done and the hub has not answered yet, as the page shows it.
import { drafts, forgetAsk } from "../lib/drafts.ts";
import { giveBack } from "../lib/giveback.ts";
import { freshKey, Outbox, type Wish, type Wished } from "../lib/outbox.ts";
import { onDisk } from "../lib/shelf.ts";
import { connection } from "./connection.svelte.ts";
import { sessions } from "./sessions.svelte.ts";
import { toasts } from "./toasts.svelte.ts";

/** How long the buttons of a decision stay away that has arrived: in a moment it shows as decided. */
const UNTIL_DECIDED = 3_000;

/** The approval or the question that a wish is about. */
function askOf(wish: Wish): string | undefined {
  switch (wish.method) {
    case "decide":
      return wish.params.approval;
    case "answer":
      return wish.params.question;
    case "prompt":
    case "open":
      return undefined;
  }
}

class Wishes {
  all = $state.raw<Wish[]>([]);
  /** Grows with everything that is given back to whoever wrote it: then drafts are read again. */
  givenBack = $state(0);
  /** Whether a timeline will show the prompts of a session; whoever keeps the timelines says so. */
  isFollowed: (session: string) => boolean = () => false;
  readonly outbox = new Outbox(
    onDisk,
    (wish) => this.send(wish),
    () => this.changed(),
  );

  async add(session: string, wished: Wished, says: string): Promise<void> {
    await this.outbox.add({ key: freshKey(), at: Date.now(), session, ...wished, says });
  }

  /** Whether something more may wait to be sent; says so when not, before anything that was written is put away. */
  hasRoom(): boolean {
    if (this.outbox.full) toasts.say("The outbox is full. Try again when you're back online.", true);
    return !this.outbox.full;
  }

  /**
   * Takes a wish back, or lets go of one that was refused. What was written for it goes back to where it was written.
   */
  takeBack(wish: Wish): void {
    giveBack(drafts, wish);
    this.givenBack += 1;
    void this.outbox.remove(wish.key);
  }

  /** What was wished for an approval or a question and has not been answered. */
  about(ask: string): Wish | undefined {
    return this.all.find((wish) => askOf(wish) === ask);
  }

  private async send(wish: Wish): Promise<unknown> {
    switch (wish.method) {
      case "prompt":
        return connection.call("prompt", { ...wish.params, session: wish.session, key: wish.key });
      case "decide":
        return connection.call("decide", wish.params);
      case "answer":
        return connection.call("answer", wish.params);
      case "open":
        return sessions.change("open", wish.params);
    }
  }

  private changed(): void {
    this.all = this.outbox.wishes;
    for (const wish of this.all) {
      if (wish.state !== "done") continue;
      const ask = askOf(wish);
      if (ask) forgetAsk(ask);
      // Nobody looks at that timeline, so nothing has to stand in for it.
      if (!this.isFollowed(wish.session)) this.outbox.reached(wish.session, Infinity);
      if (wish.seq === undefined) setTimeout(() => void this.outbox.remove(wish.key), UNTIL_DECIDED);
    }
  }
}

export const wishes = new Wishes();
