// Mounts the app.
import { mount } from "svelte";
import "./theme.css";
import "./prose.css";
import App from "./app.svelte";
import { ask, denial, http, token } from "./lib/http.ts";
import { parseRoute } from "./lib/route.ts";
import { announcePresence } from "./state/presence.svelte.ts";
import { start } from "./state/start.ts";
import { nav } from "./state/nav.svelte.ts";
import { settings } from "./state/settings.svelte.ts";
import { update } from "./state/update.svelte.ts";

/** A link may bring the owner's token. It is taken out of the address before anything else sees it. */
async function takeToken(): Promise<void> {
  const query = new URLSearchParams(location.search);
  const given = query.get("token");
  if (!given) return;
  query.delete("token");
  history.replaceState(null, "", location.pathname + (query.size ? `?${query}` : "") + location.hash);
  token.set(given);
  // A cookie lasts longer than the tab; hubs that give none are talked to with the token.
  await ask("POST", "/pair/token", { token: given }).then(
    () => token.forget(),
    () => {},
  );
}

/**
 * A link of `longshore open` signs this browser in without a form; a browser that
 * is in already stays the device that it is.
 */
async function enterByLink(): Promise<void> {
  if (location.pathname !== "/pair" || !new URLSearchParams(location.search).has("enter")) return;
  const code = location.hash.slice(1);
  try {
    if (await denial()) await http("POST", "/pair/consume", { code });
  } catch {
    // The form tells what is wrong with the code.
    return;
  }
  nav.go({ screen: "inbox" }, true);
}

settings.apply();
await takeToken();
await enterByLink();
mount(App, { target: document.getElementById("app") as HTMLElement });
if (nav.route.screen !== "pair") start();
announcePresence();

if ("serviceWorker" in navigator && import.meta.env.PROD) {
  update.watch(navigator.serviceWorker);
  void navigator.serviceWorker.register("/sw.js").catch(() => {});
  navigator.serviceWorker.addEventListener("message", ({ data }) => {
    if (typeof data?.go === "string") nav.go(parseRoute(new URL(data.go, location.origin)));
  });
}
