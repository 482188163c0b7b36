// The changed files of a session, from its timeline: every file once, with its edits in order.
import type { FileChange, TimelineItem } from "./contract.ts";
import { filesOf, rowsOf } from "./diff.ts";
import { within } from "./format.ts";

export type ChangedFile = { path: string; edits: FileChange[]; added: number; removed: number };

/** What a whole turn changed counts more than its single edits, which it sums up. */
export function changedFiles(items: TimelineItem[], cwd: string): ChangedFile[] {
  const summed = new Set(items.filter((item) => item.kind === "turn_diff" && item.text).map((item) => item.turn));
  const files = new Map<string, ChangedFile>();
  for (const item of items) {
    for (const change of changesOf(item, summed, cwd)) {
      const path = within(change.path, cwd);
      const file = files.get(path) ?? { path, edits: [], added: 0, removed: 0 };
      const { added, removed } = rowsOf(change);
      files.set(path, {
        path,
        edits: [...file.edits, change],
        added: file.added + added,
        removed: file.removed + removed,
      });
    }
  }
  return [...files.values()].sort((a, b) => a.path.localeCompare(b.path));
}

/** Whether an item can add to the changed files. */
export const hasChanges = (item: TimelineItem): boolean =>
  item.kind === "turn_diff" || item.kind === "diff" || (item.kind === "tool" && Boolean(item.content.changes?.length));

/** What a turn of several edits came to; nothing where the one edit says it already. */
export function sumOfTurn(items: readonly TimelineItem[], turn: string | null | undefined, cwd: string): FileChange[] {
  const ofTurn = items.filter((item) => item.turn === turn);
  const edits = ofTurn.filter(
    (item) =>
      (item.kind === "tool" && item.content.changes?.length) || (item.kind === "diff" && item.content.changes.length),
  );
  const sum = ofTurn.find((item) => item.kind === "turn_diff");
  return sum?.text && edits.length !== 1 ? filesOf(sum.text, cwd) : [];
}

function changesOf(item: TimelineItem, summed: Set<string | null | undefined>, cwd: string): FileChange[] {
  switch (item.kind) {
    case "turn_diff":
      return filesOf(item.text ?? "", cwd);
    case "tool":
      return summed.has(item.turn) || item.content.outcome?.status !== "completed" ? [] : (item.content.changes ?? []);
    case "diff":
      return summed.has(item.turn) || item.content.status !== "completed" ? [] : item.content.changes;
    default:
      return [];
  }
}
