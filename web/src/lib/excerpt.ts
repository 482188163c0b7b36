// A long text cut in its middle: its beginning, its end and what is dangerous in it are seen, and what is not is named.
import { plural } from "./format.ts";

export type Piece = { text: string; hidden?: undefined } | { text?: undefined; hidden: string };
export type Span = { from: number; to: number };

/** So many letters make a row on a phone. */
const ROW = 44;
/** What is seen around something dangerous. */
const AROUND = 80;
/** So many dangerous places are seen. What is left out says how many more are in it. */
const SEEN = 100;
/** A gap that is not worth its own line. */
const SMALL = 60;

/** Where `rows` rows from a side end: an empty line is a row, and a long one is many. */
function reach(text: string, rows: number, back: boolean): number {
  let left = rows;
  let at = back ? text.length : 0;
  while (left > 0 && (back ? at > 0 : at < text.length)) {
    const newline = back ? text.lastIndexOf("\n", at - 1) : text.indexOf("\n", at);
    const end = newline < 0 ? (back ? -1 : text.length) : newline;
    const length = Math.abs(end - at);
    const needed = Math.max(1, Math.ceil(length / ROW));
    if (needed > left) return back ? at - left * ROW : at + left * ROW;
    left -= needed;
    at = back ? Math.max(0, end) : Math.min(text.length, end + 1);
    if (back && end < 0) return 0;
  }
  return at;
}

/** What is around a place, on its line and one beside it. */
function around(text: string, { from, to }: Span): Span {
  const before = text.slice(Math.max(0, from - AROUND), from);
  const after = text.slice(to, to + AROUND);
  const back = before.lastIndexOf("\n", before.lastIndexOf("\n") - 1);
  const on = after.indexOf("\n", after.indexOf("\n") + 1);
  return {
    from: from - (back < 0 || !before.includes("\n") ? before.length : before.length - back - 1),
    to: to + (on < 0 || !after.includes("\n") ? after.length : on),
  };
}

/** Whether leaving that out would save no room. */
const isSmall = (text: string, from: number, to: number): boolean =>
  to - from <= SMALL && text.slice(Math.max(0, from), to).split("\n").length <= 3;

/**
 * The pieces of a text; one when it is short enough. The first of the `dangerous`
 * spans are always seen, the others counted.
 */
export function excerpt(text: string, head: number, tail: number, dangerous: Span[] = []): Piece[] {
  let [begin, end] = [reach(text, head, false), reach(text, tail, true)];
  if (isSmall(text, begin, end)) return [{ text }];
  // Emptiness belongs to what is left out.
  begin = text.slice(0, begin).trimEnd().length;
  end = text.length - text.slice(end).trimStart().length;
  const seen: Span[] = [{ from: 0, to: begin }];
  for (const span of [
    ...dangerous.slice(0, SEEN).map((danger) => around(text, danger)),
    { from: end, to: text.length },
  ].sort((a, b) => a.from - b.from)) {
    const last = seen.at(-1) as Span;
    if (isSmall(text, last.to, span.from)) last.to = Math.max(last.to, span.to);
    else seen.push({ ...span });
  }
  return seen.flatMap(({ from, to }, at): Piece[] => {
    const next = seen[at + 1];
    const piece = { text: text.slice(whole(text, from), whole(text, to)) };
    if (!next) return [piece];
    const left = dangerous.filter((danger) => danger.to > to && danger.from < next.from).length;
    const hidden = named(text.slice(whole(text, to), whole(text, next.from)));
    return [piece, { hidden: left ? `${hidden}, with ${plural(left, "risky place")}` : hidden }];
  });
}

/** Not between the two halves of a letter. */
const whole = (text: string, at: number): number => (/[\udc00-\udfff]/.test(text[at] ?? "") ? at - 1 : at);

/** What is left out, in words. */
function named(text: string): string {
  const lines = text.split("\n").length - 1;
  if (!text.trim())
    return lines > 1 ? `${plural(lines, "empty line")} not shown` : `${plural(text.length, "blank")} not shown`;
  const letters = `${text.length.toLocaleString("en")} letters`;
  return lines > 1 ? `${plural(lines, "line")}, ${letters} not shown` : `${letters} not shown`;
}

/** The whole of it in words, for the button that shows it. */
export function sizeOf(text: string): string {
  const lines = text.split("\n").length;
  return lines > 8 ? plural(lines, "line") : `${text.length.toLocaleString("en")} letters`;
}
