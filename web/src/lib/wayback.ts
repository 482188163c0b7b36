// Where somebody wanted to go who had to pair first. Pairing may happen in another tab, so it is kept for a while.
const KEY = "longshore.way";
const WITHIN = 30 * 60_000;

export function rememberPath(path: string, now = Date.now()): void {
  try {
    if (path === "/" || path.startsWith("/pair")) return;
    localStorage.setItem(KEY, JSON.stringify({ path, at: now }));
  } catch {
    // Then one begins at the beginning.
  }
}

/** Once. */
export function rememberedPath(now = Date.now()): string | undefined {
  try {
    const { path, at } = JSON.parse(localStorage.getItem(KEY) ?? "{}") as { path?: string; at?: number };
    localStorage.removeItem(KEY);
    return path?.startsWith("/") && !path.startsWith("//") && now - (at ?? 0) < WITHIN ? path : undefined;
  } catch {
    return undefined;
  }
}
