// Where the app is: one address per screen, so that links, the back button and notifications work.
export type Route =
  | { screen: "inbox" }
  | { screen: "sessions" }
  | { screen: "session"; id: string; seq?: number }
  | { screen: "changes"; id: string }
  | { screen: "new"; cwd?: string; agent?: string }
  | { screen: "machines" }
  | { screen: "usage" }
  | { screen: "pair"; code?: string };

export function parseRoute(address: { pathname: string; search: string; hash: string }): Route {
  // A link may also have its way behind the hash.
  if (address.hash.startsWith("#/")) {
    const [pathname = "/", search = ""] = address.hash.slice(1).split("?");
    return parseRoute({ pathname, search, hash: "" });
  }
  const [first, id, more] = address.pathname.split("/").filter(Boolean).map(decode);
  const query = new URLSearchParams(address.search);
  switch (first) {
    case "sessions":
    case "session":
    case "s": {
      if (!id) return { screen: "sessions" };
      if (more === "changes") return { screen: "changes", id };
      const seq = Number(query.get("seq"));
      return { screen: "session", id, ...(seq > 0 && { seq }) };
    }
    case "new":
      return { screen: "new", cwd: query.get("cwd") ?? undefined, agent: query.get("agent") ?? undefined };
    case "machines":
    case "settings":
    case "devices":
      return { screen: "machines" };
    case "usage":
      return { screen: "usage" };
    case "pair":
      return { screen: "pair", code: decode(address.hash.slice(1)) || query.get("code") || undefined };
    default:
      return { screen: "inbox" };
  }
}

export function pathOf(route: Route): string {
  switch (route.screen) {
    case "inbox":
      return "/";
    case "session":
      return `/sessions/${encodeURIComponent(route.id)}${route.seq ? `?seq=${route.seq}` : ""}`;
    case "changes":
      return `/sessions/${encodeURIComponent(route.id)}/changes`;
    case "new": {
      const query = new URLSearchParams();
      if (route.cwd) query.set("cwd", route.cwd);
      if (route.agent) query.set("agent", route.agent);
      return `/new${query.size ? `?${query}` : ""}`;
    }
    case "sessions":
    case "machines":
    case "usage":
    case "pair":
      return `/${route.screen}`;
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
