// Calls of tools: since when one runs. One that a person was asked about begins with the answer.
import type { TimelineItem } from "./contract.ts";

type Call = TimelineItem & { kind: "tool" };
type Approval = TimelineItem & { kind: "approval" };

/** When a call began: when it was told of, or allowed. */
export function begunAt(call: Call, decided: Approval | undefined): string {
  const allowed = decided?.content.decision && decided.endedAt;
  return allowed && allowed > call.startedAt ? allowed : call.startedAt;
}
