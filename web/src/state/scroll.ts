// Where a screen was scrolled to, for whoever comes back to it.
import type { Attachment } from "svelte/attachments";
import { nav } from "./nav.svelte.ts";

/** What says that the reader wants to be elsewhere. */
const MOVES = ["wheel", "touchmove", "pointerdown", "keydown"];

/** Keeps how far a scroller is scrolled at this step of the history, and brings it back there. */
export const keptScroll =
  (name: string): Attachment<HTMLElement> =>
  (scroller) => {
    const forget = nav.keeper(name, () => scroller.scrollTop);
    const to = nav.kept<number>(name) ?? 0;
    // What it shows may come later than the scroller itself.
    const watch = new MutationObserver(() => reach());
    const settle = () => {
      watch.disconnect();
      for (const move of MOVES) scroller.removeEventListener(move, settle);
    };
    const reach = () => {
      scroller.scrollTop = to;
      if (scroller.scrollTop >= to - 1) settle();
    };
    watch.observe(scroller, { childList: true, subtree: true });
    for (const move of MOVES) scroller.addEventListener(move, settle, { passive: true });
    reach();
    return () => {
      settle();
      forget();
    };
  };
