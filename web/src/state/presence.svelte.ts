// Tells the hub what this screen shows, so that it pushes nothing that is seen already.
import { http } from "../lib/http.ts";
import { nav } from "./nav.svelte.ts";

/** The hub forgets where a screen was that says nothing; it is told again as long as it looks. */
const AGAIN = 45_000;

export function announcePresence(): void {
  let last = "";
  const tell = (again: boolean) => {
    const session = nav.route.screen === "session" || nav.route.screen === "changes" ? nav.route.id : null;
    const visible = document.visibilityState === "visible";
    const now = `${session} ${visible}`;
    if (now === last && !(again && visible)) return;
    last = now;
    void http("POST", "/api/v1/presence", { session, visible }).catch(() => {});
  };
  $effect.root(() => {
    $effect(() => tell(false));
  });
  document.addEventListener("visibilitychange", () => tell(false));
  setInterval(() => tell(true), AGAIN);
}
