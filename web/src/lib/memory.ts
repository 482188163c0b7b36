// What was last seen, for when the hub cannot be reached: the list, and the newest
// page of the sessions that were looked at.
import type { AgentInfo, Session, TimelineItem, TimelinePage } from "./contract.ts";
import { onStore } from "./disk.ts";

export type KeptList = { name: "sessions"; at: number; sessions: Session[]; agents: AgentInfo[] };
export type KeptPage = { session: string; at: number; row: Session; page: TimelinePage };

/** Of how many sessions the newest page is kept. */
export const MOST_PAGES = 30;
const MOST_ROWS = 200;
const MOST_ITEMS = 60;
/** A page that is larger than that loses its oldest items. */
const MOST_LETTERS = 2_000_000;

/**
 * The newest items of a timeline as a page, from which it can go on exactly: whole
 * items, and where the older ones begin.
 */
export function newestPage(items: readonly TimelineItem[], head: number, older: number | null): TimelinePage {
  let kept = items.slice(-MOST_ITEMS);
  while (kept.length > 1 && JSON.stringify(kept).length > MOST_LETTERS) kept = kept.slice(Math.ceil(kept.length / 2));
  const cut = kept.length < items.length;
  return { items: kept, head, next: cut ? (kept[0] as TimelineItem).seq : older };
}

/** Those that go, to make room. */
export function oldestPages(pages: Pick<KeptPage, "session" | "at">[]): string[] {
  return [...pages]
    .sort((a, b) => b.at - a.at)
    .slice(MOST_PAGES)
    .map((page) => page.session);
}

/** Rows that are worth keeping. */
export const newestRows = (sessions: Iterable<Session>): Session[] =>
  [...sessions]
    .filter((session) => !session.archived)
    .sort((a, b) => b.updatedAt.localeCompare(a.updatedAt))
    .slice(0, MOST_ROWS);

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Everything here may fail (private browsing, a full disk): then nothing is remembered. */
export const memory = {
  list: (): Promise<KeptList | undefined> =>
    onStore<KeptList | undefined>("lists", "readonly", (store) => store.get("sessions")).catch(() => undefined),
  page: (session: string): Promise<KeptPage | undefined> =>
    onStore<KeptPage | undefined>("pages", "readonly", (store) => store.get(session)).catch(() => undefined),

  async keepList(sessions: Iterable<Session>, agents: AgentInfo[]): Promise<void> {
    const list: KeptList = { name: "sessions", at: Date.now(), sessions: newestRows(sessions), agents };
    await onStore("lists", "readwrite", (store) => store.put(plain(list))).catch(() => {});
  },

  async keepPage(kept: KeptPage): Promise<void> {
    try {
      await onStore("pages", "readwrite", (store) => store.put(plain(kept)));
      const pages = await onStore<KeptPage[]>("pages", "readonly", (store) => store.getAll());
      for (const session of oldestPages(pages)) await this.forget(session);
    } catch {
      // Then it is not there when the hub is not.
    }
  },

  async forget(session: string): Promise<void> {
    await onStore("pages", "readwrite", (store) => store.delete(session)).catch(() => {});
  },

  /** For a device that was sent away, and for somebody else. */
  async clear(): Promise<void> {
    for (const store of ["lists", "pages"] as const)
      await onStore(store, "readwrite", (all) => all.clear()).catch(() => {});
  },
};
