// Calls of tools that have not ended: which of them run, and since when. Agents announce several calls at once and then do
// one after the other, and a call that a person was asked about begins with the answer.
import type { OpenApproval, TimelineItem } from "./contract.ts";

type Call = TimelineItem & { kind: "tool" };
type Approval = TimelineItem & { kind: "approval" };
/** `asked`: a person has to say yes first. `waiting`: another one, announced before it, has to. */
export type CallState = "asked" | "waiting" | "running";

const isOpen = (item: TimelineItem): item is Call => item.kind === "tool" && !item.content.outcome;

/** How a call that has not ended stands. One that has said something runs, whoever else is asked about. */
export function callState(call: Call, items: readonly TimelineItem[], approvals: readonly Pick<OpenApproval, "item">[]): CallState {
  const asked = new Set(approvals.map((approval) => approval.item).filter(Boolean));
  if (call.id && asked.has(call.id)) return "asked";
  if (call.text || !asked.size) return "running";
  const before = items.some((item) => isOpen(item) && item.turn === call.turn && item.seq < call.seq && item.id && asked.has(item.id));
  return before ? "waiting" : "running";
}

/** When a call began: when it was announced, or allowed. */
export function begunAt(call: Call, decided: Approval | undefined): string {
  const allowed = decided?.content.decision && decided.endedAt;
  return allowed && allowed > call.startedAt ? allowed : call.startedAt;
}
