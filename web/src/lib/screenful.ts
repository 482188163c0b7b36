// How much of a timeline fills a screen, by a guess from its texts: good enough to draw that much first.
import type { TimelineItem } from "./contract.ts";

const LINE = 24;
/** Letters in a line of a phone; a wider screen needs fewer lines, and gets a little more than it needs. */
const LETTERS = 44;

function height(item: TimelineItem): number {
  switch (item.kind) {
    case "message":
    case "user_message":
      return (
        40 +
        (item.text ?? "")
          .split("\n")
          .reduce((sum, line) => sum + LINE * Math.max(0.5, Math.ceil(line.length / LETTERS)), 0)
      );
    case "approval":
    case "question":
      return item.endedAt ? 48 : 260;
    case "plan":
      return 44 + LINE * item.content.steps.length;
    case "reasoning":
    case "tool":
    case "diff":
    case "delegation":
    case "turn_end":
    case "turn_diff":
    case "notice":
      return 44;
  }
}

/** How many of the last items it takes. */
export function screenful(items: readonly TimelineItem[], room: number): number {
  let left = room;
  let count = 0;
  while (left > 0 && count < items.length) left -= height(items[items.length - ++count] as TimelineItem);
  return count;
}
