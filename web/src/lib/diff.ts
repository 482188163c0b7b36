// Unified diffs as rows: one column, or old beside new. Agents give whole diffs, bare hunks or bare contents.
import type { FileChange } from "./contract.ts";

/** A piece of a line, and whether it is what changed in it. */
export type Piece = { text: string; changed: boolean };
export type Row = { sign: " " | "+" | "-"; old?: number; new?: number; pieces: Piece[] };
export type Hunk = { header: string; rows: Row[] };
export type FileRows = { hunks: Hunk[]; added: number; removed: number };
export type Pair = { left?: Row; right?: Row };

const HEADER = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/;
/** How lines begin that say something about a file, not of it. */
const META = [
  ...["diff --git ", "index ", "--- ", "+++ ", "new file", "deleted file", "old mode", "new mode", "similarity"],
  ...["rename ", "\\ No newline", "Binary files "],
];
const isMeta = (line: string): boolean => META.some((beginning) => line.startsWith(beginning));

export function rowsOf(change: Pick<FileChange, "diff" | "kind">): FileRows {
  const lines = change.diff.replace(/\n$/, "").split("\n");
  const bare = !lines.some((line) => line.startsWith("@@"));
  const hunks = bare ? bareRows(lines, change) : hunksOf(lines);
  const count = (sign: string) =>
    hunks.reduce((sum, hunk) => sum + hunk.rows.filter((row) => row.sign === sign).length, 0);
  for (const hunk of hunks) mark(hunk.rows);
  return { hunks, added: count("+"), removed: count("-") };
}

/** A new or a gone file may come as its bare content. */
function bareRows(lines: string[], change: Pick<FileChange, "diff" | "kind">): Hunk[] {
  if (!change.diff) return [];
  if (change.kind === "update")
    return [
      {
        header: "",
        rows: number(
          lines.filter((line) => !isMeta(line)),
          1,
          1,
        ),
      },
    ];
  const sign = change.kind === "add" ? "+" : "-";
  const signed = lines.every((line) => line.startsWith(sign) || line === "")
    ? lines.map((line) => line.slice(1))
    : lines;
  return [
    {
      header: "",
      rows: number(
        signed.map((line) => sign + line),
        1,
        1,
      ),
    },
  ];
}

function hunksOf(lines: string[]): Hunk[] {
  const hunks: Hunk[] = [];
  let body: string[] = [];
  // A hunk that says not where it stands has no numbers.
  let start: [number, number] | undefined;
  let header: string | undefined;
  const close = () => {
    if (header !== undefined)
      hunks.push({ header, rows: start ? number(body, ...start) : unnumbered(number(body, 1, 1)) });
    body = [];
  };
  for (const line of lines) {
    const match = HEADER.exec(line);
    if (match || line.startsWith("@@")) {
      close();
      header = (match?.[3] ?? line.slice(2)).trim();
      start = match ? [Number(match[1]), Number(match[2])] : undefined;
    } else if (header !== undefined && !line.startsWith("\\")) {
      if (line.startsWith("diff --git ")) {
        close();
        header = undefined;
      } else body.push(line);
    }
  }
  close();
  return hunks;
}

function number(lines: string[], old: number, fresh: number): Row[] {
  return lines.map((line): Row => {
    const pieces = [{ text: line.slice(1), changed: false }];
    if (line.startsWith("+")) return { sign: "+", new: fresh++, pieces };
    if (line.startsWith("-")) return { sign: "-", old: old++, pieces };
    return { sign: " ", old: old++, new: fresh++, pieces };
  });
}

const unnumbered = (rows: Row[]): Row[] => rows.map(({ sign, pieces }) => ({ sign, pieces }));

/** Lines that replace as many others one by one: shows what differs within them. */
function mark(rows: Row[]): void {
  for (const { gone, come } of runs(rows)) {
    if (gone.length !== come.length) continue;
    gone.forEach((row, at) => {
      const other = come[at] as Row;
      const [before, after] = [row.pieces[0]?.text ?? "", other.pieces[0]?.text ?? ""];
      const head = shared(before, after);
      const tail = shared(reversed(before.slice(head)), reversed(after.slice(head)));
      // Two lines that have next to nothing in common are just two lines.
      if ((head + tail) * 2 < Math.max(before.length, after.length)) return;
      row.pieces = cut(before, head, tail);
      other.pieces = cut(after, head, tail);
    });
  }
}

function* runs(rows: Row[]): Iterable<{ gone: Row[]; come: Row[] }> {
  for (let at = 0; at < rows.length;) {
    const gone = takeWhile(rows, at, "-");
    const come = takeWhile(rows, at + gone.length, "+");
    if (gone.length && come.length) yield { gone, come };
    at += Math.max(1, gone.length + come.length);
  }
}

function takeWhile(rows: Row[], from: number, sign: Row["sign"]): Row[] {
  let to = from;
  while (rows[to]?.sign === sign) to++;
  return rows.slice(from, to);
}

function shared(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}

const reversed = (text: string): string => text.split("").reverse().join("");

function cut(text: string, head: number, tail: number): Piece[] {
  const pieces = [
    { text: text.slice(0, head), changed: false },
    { text: text.slice(head, text.length - tail), changed: true },
    { text: text.slice(text.length - tail), changed: false },
  ];
  return pieces.filter((piece) => piece.text !== "");
}

/** Old beside new. */
export function pairs(rows: Row[]): Pair[] {
  const paired: Pair[] = [];
  for (let at = 0; at < rows.length;) {
    const row = rows[at] as Row;
    if (row.sign === " ") {
      paired.push({ left: row, right: row });
      at++;
      continue;
    }
    const gone = takeWhile(rows, at, "-");
    const come = takeWhile(rows, at + gone.length, "+");
    for (let line = 0; line < Math.max(gone.length, come.length); line++)
      paired.push({ left: gone[line], right: come[line] });
    at += gone.length + come.length;
  }
  return paired;
}

/** A diff of many files, as git writes it, file by file. */
export function filesOf(diff: string, cwd = ""): FileChange[] {
  return diff
    .split(/^(?=diff --git )/m)
    .filter((part) => part.startsWith("diff --git "))
    .map((part): FileChange => {
      const path = /^\+\+\+ (?:b\/)?(.+)$/m.exec(part)?.[1];
      const before = /^--- (?:a\/)?(.+)$/m.exec(part)?.[1];
      const named = /^diff --git a\/(.+) b\/(.+)$/m.exec(part);
      const kind =
        path === "/dev/null" || /^deleted file/m.test(part)
          ? "delete"
          : before === "/dev/null" || /^new file/m.test(part)
            ? "add"
            : "update";
      const chosen = kind === "delete" ? before : path;
      const found = (chosen && chosen !== "/dev/null" ? chosen : named?.[2]) ?? "?";
      return { path: underRoot(found, cwd), kind, diff: part };
    });
}

/**
 * A diff of a repository names its paths from the repository's root, which may be far above the work tree.
 * One name that both share may be chance; two are none.
 */
function underRoot(path: string, cwd: string): string {
  const names = cwd.split("/").filter(Boolean);
  for (let from = 0; from <= names.length - 2; from++) {
    const shared = `${names.slice(from).join("/")}/`;
    if (path.startsWith(shared)) return `${cwd}/${path.slice(shared.length)}`;
  }
  return path;
}
