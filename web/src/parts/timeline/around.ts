// What a thing on the timeline shows of the things around it.
import { sumOfTurn } from "../../lib/changes.ts";
import type { FileChange, TimelineItem } from "../../lib/contract.ts";
import { decisionsByItem } from "../../lib/shown.ts";

/** What was said last in each turn that has ended. */
function answersByTurn(items: readonly TimelineItem[]): Map<string | null | undefined, TimelineItem> {
  const said = new Map<string | null | undefined, TimelineItem>();
  const answers = new Map<string | null | undefined, TimelineItem>();
  for (const item of items) {
    if (item.kind === "message") said.set(item.turn, item);
    const last = item.kind === "turn_end" ? said.get(item.turn) : undefined;
    if (last) answers.set(item.turn, last);
  }
  return answers;
}

export class Around {
  /** What was decided about calls that show it themselves. */
  readonly decided: ReturnType<typeof decisionsByItem>;
  /** Where what is here begins: an older page may bring more of a turn. */
  readonly oldest: number | undefined;
  /** The last words of each turn that has ended, by that turn. */
  private readonly answers: ReadonlyMap<string | null | undefined, TimelineItem>;
  /** Before the end of the first turn there is nothing that a fork could begin with. */
  private readonly forkableAfter: number;

  constructor(
    private readonly items: readonly TimelineItem[],
    hasOlder: boolean,
    private readonly cwd: string,
  ) {
    this.decided = decisionsByItem(items);
    this.oldest = items[0]?.seq;
    this.answers = answersByTurn(items);
    this.forkableAfter = hasOlder ? 0 : (items.find((item) => item.kind === "turn_end")?.seq ?? Infinity);
  }

  /** What an item changes, for approvals that only point at it. */
  changesOf(id: string): FileChange[] {
    const item = this.items.find((one) => one.id === id && (one.kind === "tool" || one.kind === "diff"));
    return item?.kind === "tool" ? (item.content.changes ?? []) : item?.kind === "diff" ? item.content.changes : [];
  }

  sumOf(turn: string | null | undefined): FileChange[] {
    return sumOfTurn(this.items, turn, this.cwd);
  }

  /** The last words of a turn. */
  answerOf(end: TimelineItem): string {
    return this.answers.get(end.turn)?.text ?? "";
  }

  /** Whether the end of its turn offers what can be done with a message. */
  isAnswer(message: TimelineItem): boolean {
    return this.answers.get(message.turn) === message;
  }

  mayForkAt(item: TimelineItem): boolean {
    return item.kind === "turn_end" ? item.seq >= this.forkableAfter : item.seq > this.forkableAfter;
  }

  /** The message that begins the turn after this one; none when it was the last. */
  nextPrompt(end: TimelineItem): TimelineItem | undefined {
    return this.items.find((item) => item.kind === "user_message" && item.seq > end.seq && item.turn !== end.turn);
  }
}
