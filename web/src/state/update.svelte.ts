// The hub was updated while the page was open: its old parts are gone, so it is
// loaded anew, unless somebody is writing.
import { drafts } from "../lib/drafts.ts";
import { isTyping } from "../lib/keys.ts";

class Update {
  /** There is a new one, and the person says when. */
  ready = $state(false);
  private done = false;

  /** The first worker of a page takes it over, too; only a second one is news. */
  watch(workers: ServiceWorkerContainer): void {
    let had = Boolean(workers.controller);
    workers.addEventListener("controllerchange", () => {
      if (!had) return void (had = true);
      if (this.busy()) this.ready = true;
      else this.reload();
    });
  }

  reload(): void {
    if (this.done) return;
    this.done = true;
    location.reload();
  }

  private busy(): boolean {
    const field = document.activeElement;
    const writing = isTyping(field) && Boolean((field as HTMLInputElement).value);
    return writing || drafts.unwritten || Boolean(document.querySelector("dialog[open]"));
  }
}

export const update = new Update();
