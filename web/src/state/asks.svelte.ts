// What is under way at approvals: which have a denial being written, and which was
// asked for by a key. It outlasts the card.
import { draftName, drafts } from "../lib/drafts.ts";

class Asks {
  private telling = $state<Record<string, boolean>>({});
  /** The approval whose field is to be focused when it shows. */
  wanted: string | undefined;

  isTelling(approval: string): boolean {
    return this.telling[approval] ?? drafts.of(draftName.denial(approval)) !== undefined;
  }

  tell(approval: string): void {
    this.telling[approval] = true;
    this.wanted = approval;
  }

  /** Back to the buttons; the words stay. */
  stop(approval: string): void {
    this.telling[approval] = false;
  }
}

export const asks = new Asks();
