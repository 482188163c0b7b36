// Where the app is, as the address bar has it.
import { parseRoute, pathOf, type Route } from "../lib/route.ts";

class Nav {
  route = $state.raw<Route>(parseRoute(location));
  /** How many steps were made within the app: back leads out of it otherwise. */
  private steps = 0;

  constructor() {
    addEventListener("popstate", () => {
      this.steps = Math.max(0, this.steps - 1);
      this.route = parseRoute(location);
    });
    addEventListener("hashchange", () => (this.route = parseRoute(location)));
  }

  go(route: Route, replace = false): void {
    const path = pathOf(route);
    if (replace) history.replaceState(null, "", path);
    else if (path !== location.pathname + location.search) {
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
