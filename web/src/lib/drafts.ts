// Words that were begun and not sent: they outlast a look elsewhere, a scroll, a
// reload. Secrets and files never leave memory.

/** What a page needs of `localStorage`; tests bring their own. */
export type Disk = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** How many are kept; the oldest go first. */
export const MOST_DRAFTS = 60;
const PREFIX = "longshore.draft.";

export class Drafts {
  /** What is never written down, and what the disk would not take. */
  private memory = new Map<string, unknown>();

  constructor(private readonly disk: () => Disk | undefined) {}

  of<T>(name: string): T | undefined {
    if (this.memory.has(name)) return this.memory.get(name) as T;
    try {
      const kept = this.disk()?.getItem(PREFIX + name);
      return kept ? ((JSON.parse(kept) as { what: T }).what ?? undefined) : undefined;
    } catch {
      return undefined;
    }
  }

  /** Nothing, or an empty text, forgets it. */
  keep(name: string, what: unknown, at = Date.now()): void {
    if (what === undefined || what === "") return this.forget(name);
    // A disk that is full or not ours: then it lasts as long as the page.
    this.memory.set(name, what);
    try {
      const disk = this.disk();
      if (!disk) return;
      disk.setItem(PREFIX + name, JSON.stringify({ at, what }));
      this.memory.delete(name);
      this.prune();
    } catch {
      // It is in memory.
    }
  }

  /** For what must not be written down. */
  keepInMemory(name: string, what: unknown): void {
    if (what === undefined) this.memory.delete(name);
    else this.memory.set(name, what);
  }

  forget(name: string): void {
    this.memory.delete(name);
    try {
      this.disk()?.removeItem(PREFIX + name);
    } catch {
      // Then there is nothing of it either.
    }
  }

  /** For somebody else, or for a device that was sent away. */
  forgetAll(): void {
    this.memory.clear();
    for (const name of this.names()) this.forget(name);
  }

  /** Whether a reload would lose something. */
  get unwritten(): boolean {
    return this.memory.size > 0;
  }

  private names(): string[] {
    const disk = this.disk();
    if (!disk) return [];
    return Array.from({ length: disk.length }, (_, at) => disk.key(at) ?? "")
      .filter((name) => name.startsWith(PREFIX))
      .map((name) => name.slice(PREFIX.length));
  }

  private prune(): void {
    const names = this.names();
    if (names.length <= MOST_DRAFTS) return;
    const age = (name: string): number => {
      try {
        return (JSON.parse(this.disk()?.getItem(PREFIX + name) ?? "{}") as { at?: number }).at ?? 0;
      } catch {
        return 0;
      }
    };
    const dated = names.map((name) => ({ name, at: age(name) })).sort((a, b) => a.at - b.at);
    for (const { name } of dated.slice(0, names.length - MOST_DRAFTS)) this.forget(name);
  }
}

/** Some browsers throw at the mere mention of it. */
function local(): Disk | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}

export const drafts = new Drafts(local);

/** What a draft is called, by what it answers. */
export const draftName = {
  prompt: (session: string) => `prompt.${session}`,
  files: (session: string) => `files.${session}`,
  queued: (prompt: string) => `queued.${prompt}`,
  denial: (approval: string) => `denial.${approval}`,
  answer: (question: string) => `answer.${question}`,
  secrets: (question: string) => `secrets.${question}`,
  opening: "opening",
  openingFiles: "opening.files",
};

/** All that was begun for an approval or a question. */
export function forgetAsk(ask: string): void {
  for (const name of [draftName.denial(ask), draftName.answer(ask), draftName.secrets(ask)]) drafts.forget(name);
}
