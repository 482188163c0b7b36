// Deciding on an approval, from a card or by a key.
import type { ApprovalRequest, Decision } from "../lib/contract.ts";
import { allows, decisionWord } from "../lib/describe.ts";
import { pendingCommands } from "./pending-commands.svelte.ts";
import { toasts } from "./toasts.svelte.ts";

type Approval = Pick<ApprovalRequest, "approval" | "options" | "subject">;

export const yesOf = (approval: Approval): Decision | undefined => approval.options.find(allows);
export const noOf = (approval: Approval): Decision | undefined => approval.options.find((option) => !allows(option));

/** The same answer for all of them; words go with a no. */
export function decideOn(session: string, approvals: Approval[], decision: Decision, message = ""): void {
  const words = message.trim();
  for (const approval of approvals) {
    const params = { approval: approval.approval, decision, ...(words && !allows(decision) && { message: words }) };
    void toasts.trying(
      pendingCommands.add(
        session,
        { method: "decide", params },
        decisionWord(decision, approval.subject).replace("…", ""),
      ),
    );
  }
}
