// What of a timeline is drawn: things that another one says already are left out.
import type { TimelineItem } from "./contract.ts";
import { HUB_RESTARTED } from "./describe.ts";
import { retryOf } from "./retry.ts";
import { tellsPlan } from "./tools.ts";

type Approval = TimelineItem & { kind: "approval" };
export type PlanItem = TimelineItem & { kind: "plan" };

/** The plan that holds, of a turn or of all that is here. */
export const newestPlan = (items: readonly TimelineItem[], turn?: string | null): PlanItem | undefined =>
  items.findLast(
    (item): item is PlanItem =>
      item.kind === "plan" && item.content.steps.length > 0 && (turn === undefined || item.turn === turn),
  );

/** A notice that long is a lecture, and is heard once. */
const LECTURE = 110;

/**
 * Whether an item stands in the list, before the `next` one: the sum of a turn
 * stands at its end, and empty things nowhere.
 */
export function shown(item: TimelineItem, next?: TimelineItem): boolean {
  if (item.kind === "turn_diff") return false;
  if (item.kind === "notice") return Boolean(item.text);
  return !speaksFor(next, item);
}

/** A call that showed a plan or asked a question is seen in that; only how it failed is news. */
function speaksFor(next: TimelineItem | undefined, item: TimelineItem): boolean {
  if (item.kind !== "tool" || item.content.call.kind !== "think") return false;
  const well = !item.content.outcome || item.content.outcome.status === "completed";
  return (
    well &&
    item.turn === next?.turn &&
    (next?.kind === "plan" ||
      next?.kind === "question" ||
      (next?.kind === "approval" && next.content.request.subject.kind === "plan"))
  );
}

/**
 * What was decided about a call, where the call itself can show it. Words that went with it need a line of their
 * own; so does a yes to a plan, whose call is not shown.
 */
export function decisionsByItem(items: readonly TimelineItem[]): Map<string, Approval> {
  const calls = new Set(items.filter((item) => item.kind === "tool" || item.kind === "diff").map((item) => item.id));
  const decided = items.filter(
    (item): item is Approval =>
      item.kind === "approval" &&
      Boolean(
        item.endedAt &&
        item.id &&
        calls.has(item.id) &&
        item.content.decision &&
        !item.content.decision.message &&
        item.content.request.subject.kind !== "plan",
      ),
  );
  return new Map(decided.map((item) => [item.id as string, item]));
}

/** A turn that a restart has cut says so already, also where another notice came in between. */
function saysRestart(items: readonly TimelineItem[], at: number): boolean {
  const item = items[at];
  if (item?.kind !== "notice" || item.text !== HUB_RESTARTED) return false;
  const last = items.slice(0, at).findLast((one) => one.kind !== "notice");
  return last?.kind === "turn_end" && last.content.error?.code === "hub_restarted";
}

/** An agent that does not start says why, its sleep says it again, and so does the turn that failed for it. */
function saidAgain(items: readonly TimelineItem[], at: number): boolean {
  const [item, before] = [items[at], items[at - 1]];
  if (item?.kind !== "notice") return false;
  if (
    item.content.level === "info" &&
    before?.kind === "notice" &&
    before.content.level === "error" &&
    before.text === item.text
  )
    return true;
  const following = items.slice(at).find((one) => one.kind !== "notice" && one.kind !== "user_message");
  return following?.kind === "turn_end" && following.content.error?.message === item.text;
}

/** All that stands in the list. */
export function visible(items: readonly TimelineItem[]): TimelineItem[] {
  const newest = new Map(items.filter((item) => item.kind === "plan").map((item) => [item.turn, item.seq]));
  const proposed = new Set(
    items
      .filter((item) => item.kind === "approval" && !item.endedAt && item.content.request.subject.kind === "plan")
      .map((item) => item.turn),
  );
  const decided = decisionsByItem(items);
  const heard = new Set<string>();
  const found = items.filter((item, at) => {
    if (!shown(item, items[at + 1])) return false;
    // A plan that was told anew is the newest one; one that waits for a yes is shown with the question.
    if (item.kind === "plan")
      return newest.get(item.turn) === item.seq && !(proposed.has(item.turn) && !item.content.steps.length);
    // So is the call that told it, as long as it did.
    if (item.kind === "tool" && tellsPlan(item.content.call) && newest.has(item.turn))
      return (item.content.outcome?.status ?? "completed") !== "completed";
    if (item.kind === "approval") return !(item.id && decided.get(item.id) === item);
    if (item.kind === "notice" && item.content.level !== "error" && (item.text ?? "").length > LECTURE) {
      if (heard.has(item.text ?? "")) return false;
      heard.add(item.text ?? "");
    }
    return true;
  });
  return found.filter(
    (item, at) => !(retryOf(item) && retryOf(found[at + 1])) && !saysRestart(found, at) && !saidAgain(found, at),
  );
}
