// What of a timeline is drawn.
import type { TimelineItem } from "./contract.ts";

/** Whether an item stands in the list, before the `next` one: the sum of a turn stands at its end, and empty things nowhere. */
export function shown(item: TimelineItem, next?: TimelineItem): boolean {
  if (item.kind === "turn_diff") return false;
  if (item.kind === "notice") return Boolean(item.text);
  return !speaksFor(next, item);
}

/** A call that showed a plan or asked a question is seen in that; only how it failed is news. */
function speaksFor(next: TimelineItem | undefined, item: TimelineItem): boolean {
  if (item.kind !== "tool" || item.content.call.kind !== "think") return false;
  const well = !item.content.outcome || item.content.outcome.status === "completed";
  return well && item.turn === next?.turn && (next?.kind === "plan" || next?.kind === "question");
}
