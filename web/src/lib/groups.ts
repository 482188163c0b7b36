// Lists put in order: sessions by project, approvals that are the same, what was found where.
import type { Me, OpenApproval, OpenQuestion, Session } from "./contract.ts";
import { mayAct, mayAnswer, mayDecide } from "./abilities.ts";
import { plainText } from "./ansi.ts";
import { machineOf, projectOf } from "./describe.ts";
import { heldIn } from "./queue.ts";

export type SessionFilter = "all" | "waiting" | "working" | "rest";
export type ListRow =
  | { kind: "group"; key: string; project: string; machine?: string; path: string; many: number }
  | { kind: "session"; key: string; session: Session; children: number };

export function matches(session: Session, filter: SessionFilter): boolean {
  switch (filter) {
    case "all":
      return true;
    case "waiting":
      return session.activity === "waiting" || session.cutByRestart || heldIn(session) > 0;
    case "working":
      return session.status === "active";
    case "rest":
      return session.status !== "active" && !matches(session, "waiting");
  }
}

/** What has ended for good belongs to the archive, whoever put it there. */
export const putAway = (session: Session): boolean => session.archived || session.activity === "closed";

/** Newest project first, newest session of it first; delegated sessions are counted with the one that delegated. */
export function listRows(sessions: Iterable<Session>, filter: SessionFilter, archived: boolean): ListRow[] {
  const all = [...sessions].filter((session) => putAway(session) === archived);
  const known = new Set(all.map((session) => session.sessionId));
  const children = new Map<string, number>();
  for (const session of all)
    if (session.parent && known.has(session.parent))
      children.set(session.parent, (children.get(session.parent) ?? 0) + 1);
  const shown = all.filter(
    (session) =>
      matches(session, filter) && !(session.parent && known.has(session.parent) && session.activity !== "waiting"),
  );
  const groups = new Map<string, Session[]>();
  for (const session of shown.sort((a, b) => b.updatedAt.localeCompare(a.updatedAt))) {
    const key = `${machineOf(session) ?? ""}\n${session.cwd}`;
    const group = groups.get(key);
    if (group) group.push(session);
    else groups.set(key, [session]);
  }
  const rows: ListRow[] = [];
  for (const [key, group] of groups) {
    const first = group[0] as Session;
    rows.push({
      kind: "group",
      key,
      project: projectOf(first),
      machine: machineOf(first),
      path: first.cwd,
      many: group.length,
    });
    for (const session of group)
      rows.push({ kind: "session", key: session.sessionId, session, children: children.get(session.sessionId) ?? 0 });
  }
  return rows;
}

export type BoardColumn = {
  id: "waiting" | "working" | "done" | "earlier";
  word: string;
  none: string;
  sessions: Session[];
};
const DAY = 86_400_000;
/** So many of what was done long ago; the list has the rest. */
export const EARLIER = 24;

/** Sessions by how they stand. Whoever was delegated to stands with who delegated, unless it waits itself. */
export function board(sessions: Iterable<Session>, now: number): BoardColumn[] {
  const all = [...sessions]
    .filter((session) => !putAway(session))
    .sort((a, b) => b.updatedAt.localeCompare(a.updatedAt));
  const known = new Set(all.map((session) => session.sessionId));
  const shown = all.filter((session) => matches(session, "waiting") || !(session.parent && known.has(session.parent)));
  const place = (session: Session): BoardColumn["id"] => {
    if (matches(session, "waiting")) return "waiting";
    if (session.status === "active" || session.activity === "starting") return "working";
    return now - Date.parse(session.updatedAt) < DAY ? "done" : "earlier";
  };
  const of = (id: BoardColumn["id"]) => shown.filter((session) => place(session) === id);
  return [
    // Who waits longest comes first.
    { id: "waiting", word: "Needs you", none: "You're all caught up.", sessions: of("waiting").reverse() },
    { id: "working", word: "Working", none: "No agent is working.", sessions: of("working") },
    { id: "done", word: "Done", none: "Nothing in the last 24 hours.", sessions: of("done") },
    { id: "earlier", word: "Earlier", none: "Nothing older.", sessions: of("earlier").slice(0, EARLIER) },
  ];
}

export type Ask =
  | { kind: "approval"; key: string; at: string; session: string; approvals: OpenApproval[] }
  | { kind: "question"; key: string; at: string; session: string; question: OpenQuestion };

const likenesses = new WeakMap<OpenApproval, string>();
/** What makes two approvals the same thing to a person. What is not known whole is like nothing else. */
function likeness(approval: OpenApproval): string {
  const known = likenesses.get(approval);
  if (known !== undefined) return known;
  const made = approval.cut ? approval.approval : JSON.stringify([approval.subject, approval.options]);
  likenesses.set(approval, made);
  return made;
}

/** All that waits for a person, oldest first; approvals of the same thing in the same session are one. */
export function asks(sessions: Iterable<Session>): Ask[] {
  const found = new Map<string, Ask>();
  for (const session of sessions) {
    for (const approval of session.approvals ?? []) {
      const key = `${session.sessionId} ${likeness(approval)}`;
      const same = found.get(key);
      if (same?.kind === "approval") same.approvals.push(approval);
      else
        found.set(key, {
          kind: "approval",
          key: approval.approval,
          at: approval.requestedAt,
          session: session.sessionId,
          approvals: [approval],
        });
    }
    for (const question of session.questions ?? []) {
      found.set(question.question, {
        kind: "question",
        key: question.question,
        at: question.askedAt,
        session: session.sessionId,
        question,
      });
    }
  }
  return [...found.values()].sort((a, b) => a.at.localeCompare(b.at));
}

const newest = (sessions: Iterable<Session>, which: (session: Session) => boolean): Session[] =>
  [...sessions]
    .filter((session) => which(session) && !putAway(session))
    .sort((a, b) => b.updatedAt.localeCompare(a.updatedAt));

/** Sessions whose turn was cut by a restart of the hub, the newest first. */
export const interrupted = (sessions: Iterable<Session>): Session[] =>
  newest(sessions, (session) => session.cutByRestart);

/** Sessions with prompts that are held, the newest first. What a restart has cut is resumed, and its prompts follow. */
export const holding = (sessions: Iterable<Session>): Session[] =>
  newest(sessions, (session) => heldIn(session) > 0 && !session.cutByRestart);

/** How much waits that this device may answer, resume or send on; others' business is no number on its icon. */
export function waitingCount(sessions: Iterable<Session>, me: Me | undefined): number {
  const all = [...sessions];
  const answerable = all.reduce(
    (sum, session) =>
      sum +
      (mayDecide(me) ? (session.approvals?.length ?? 0) : 0) +
      (mayAnswer(me) ? (session.questions?.length ?? 0) : 0),
    0,
  );
  return answerable + (mayAct(me) ? interrupted(all).length + holding(all).length : 0);
}

/**
 * Colours of terminals, also where the snippet has cut them in two, and the marks of markdown say nothing in a line.
 */
function plainSnippet(snippet: string): string {
  return plainText(snippet.replaceAll("\u241b", "\x1b").replace(/^…?\[?[\d;]*m(?=\S)/, "…"))
    .replace(/\x1b?\[[\d;]*m?$/, "")
    .replace(/^\s*(?:#{1,6}|>|[-*+]|\d+[.)])\s+/gm, "")
    .replace(/\|[\s:|-]{3,}\|/g, " ")
    .replace(/\*\*|__|~~|`+/g, "")
    .replace(/\s*\n\s*|\s{2,}/g, " ");
}

/** A snippet of a search: what matched stands between two marks that show as nothing. */
export function marked(snippet: string): { text: string; hit: boolean }[] {
  const parts: { text: string; hit: boolean }[] = [];
  for (const part of plainSnippet(snippet).split("\u2068")) {
    const [hit, rest] = part.split("\u2069");
    if (rest === undefined) parts.push({ text: part, hit: false });
    else parts.push({ text: hit as string, hit: true }, { text: rest, hit: false });
  }
  return parts.filter((part) => part.text);
}
