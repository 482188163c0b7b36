// Of a long change its beginning and its end: what is in between is counted, never just cut off.
import type { Hunk, Row } from "./diff.ts";

/** Rows that stand together; `hidden` says how many were left out before them. */
export type Chunk = { header: string; begins: boolean; hidden: number; rows: Row[] };

export function chunksOf(hunks: Hunk[], most: number): Chunk[] {
  const total = hunks.reduce((sum, hunk) => sum + hunk.rows.length, 0);
  const [from, to] = total > most ? [Math.ceil((most * 2) / 3), total - Math.floor(most / 3)] : [total, total];
  const chunks: Chunk[] = [];
  let at = 0;
  let hidden = 0;
  for (const hunk of hunks) {
    const [head, tail] = [hunk.rows.slice(0, Math.max(0, from - at)), hunk.rows.slice(Math.max(0, to - at, from - at))];
    if (head.length) chunks.push({ header: hunk.header, begins: true, hidden: 0, rows: head });
    hidden += hunk.rows.length - head.length - tail.length;
    if (tail.length) {
      chunks.push({ header: hunk.header, begins: !head.length, hidden, rows: tail });
      hidden = 0;
    }
    at += hunk.rows.length;
  }
  return chunks;
}
