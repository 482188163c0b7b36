// Deciding on an approval, from a card or by a key.
import type { ApprovalRequest, Decision } from "../lib/contract.ts";
import { allows, decisionWord } from "../lib/describe.ts";
import { hub } from "./hub.svelte.ts";
import { toasts } from "./toasts.svelte.ts";

type Asked = Pick<ApprovalRequest, "approval" | "options" | "subject">;

export const yesOf = (asked: Asked): Decision | undefined => asked.options.find(allows);
export const noOf = (asked: Asked): Decision | undefined => asked.options.find((option) => !allows(option));

/** The same answer for all of them; words go with a no. */
export function decideOn(session: string, approvals: Asked[], decision: Decision, message = ""): void {
  const words = message.trim();
  for (const one of approvals) {
    const params = { approval: one.approval, decision, ...(words && !allows(decision) && { message: words }) };
    void toasts.trying(hub.wish(session, "decide", params, decisionWord(decision, one.subject).replace("…", "")));
  }
}
