// Where the app is, as the address bar has it.
import { parseRoute, pathOf, type Route } from "../lib/route.ts";

class Nav {
  route = $state.raw<Route>(parseRoute(location));
  /** How many steps were made within the app: back leads out of it otherwise. */
  private steps = 0;
  /** What a screen wants to find again when somebody comes back to it, by the name it gave. */
  private keepers = new Map<string, () => unknown>();

  constructor() {
    addEventListener("popstate", () => {
      this.steps = Math.max(0, this.steps - 1);
      this.route = parseRoute(location);
    });
    // When the page is loaded anew; on a phone also after the browser has thrown it away in the background.
    addEventListener("beforeunload", () => this.keepState());
    document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && this.keepState());
    addEventListener("hashchange", () => (this.route = parseRoute(location)));
  }

  /** What was kept under that name at this step of the history. */
  kept<T>(name: string): T | undefined {
    return (history.state as Record<string, T> | null)?.[name];
  }

  /** Asked for its state when the screen is left; returns the way to stop that. */
  keeper(name: string, state: () => unknown): () => void {
    this.keepers.set(name, state);
    return () => this.keepers.get(name) === state && this.keepers.delete(name);
  }

  private keepState(): void {
    if (this.keepers.size)
      history.replaceState(
        { ...history.state, ...Object.fromEntries([...this.keepers].map(([name, state]) => [name, state()])) },
        "",
      );
  }

  go(route: Route, replace = false): void {
    const path = pathOf(route);
    if (replace) history.replaceState(null, "", path);
    else if (path !== location.pathname + location.search) {
      this.keepState();
      history.pushState(null, "", path);
      this.steps += 1;
    }
    this.route = route;
  }

  back(otherwise: Route): void {
    if (this.steps > 0) history.back();
    else this.go(otherwise, true);
  }

  /** Links within the app are followed without loading anything. */
  follow = (event: MouseEvent): void => {
    const link = (event.target as Element | null)?.closest?.("a[href]");
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || link.target || link.hasAttribute("download")) return;
    if (link.origin !== location.origin) return;
    event.preventDefault();
    this.go(parseRoute(link));
  };
}

export const nav = new Nav();
