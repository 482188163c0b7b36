// Figures and times as people read them.

const DAY = 86_400_000;

/** `now`, `4 min`, `3 h`, `Tue`, `12 Mar`: short enough for a list. */
export function ago(at: string, now: number): string {
  const then = Date.parse(at);
  const past = now - then;
  if (past < 60_000) return "now";
  if (past < 3_600_000) return `${Math.floor(past / 60_000)} min`;
  if (past < DAY) return `${Math.floor(past / 3_600_000)} h`;
  const date = new Date(then);
  if (past < 6 * DAY) return date.toLocaleDateString(undefined, { weekday: "short" });
  const year = date.getFullYear() === new Date(now).getFullYear() ? undefined : ("numeric" as const);
  return date.toLocaleDateString(undefined, { day: "numeric", month: "short", year });
}

/** The same in a sentence: `12 min ago`, `on Sat`. */
export function agoWords(at: string, now: number): string {
  const short = ago(at, now);
  if (short === "now") return "just now";
  return /(min|h)$/.test(short) ? `${short} ago` : `on ${short}`;
}

/** `14:03`, with the day when that is another one. */
export function clock(at: string, now: number): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  return date.toDateString() === new Date(now).toDateString()
    ? time
    : `${date.toLocaleDateString(undefined, { day: "numeric", month: "short" })}, ${time}`;
}

/** `240 ms`, `5.7 s`, `3:07 min`, `2:05 h`. */
export function duration(ms: number): string {
  if (ms < 950) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_500) return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000);
  const two = (part: number) => String(part).padStart(2, "0");
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)} min`;
  return `${Math.floor(seconds / 3_600)}:${two(Math.floor(seconds / 60) % 60)} h`;
}

/** `840`, `8.1k`, `1.2M`. */
export function count(figure: number): string {
  if (figure < 1_000) return String(Math.round(figure));
  const [scaled, unit] = figure < 999_500 ? [figure / 1_000, "k"] : [figure / 1_000_000, "M"];
  return `${scaled < 9.95 ? scaled.toFixed(1) : Math.round(scaled)}${unit}`;
}

/** `<$0.01`, `$0.31`, `$120`. */
export function cost(usd: number): string {
  if (usd === 0) return "$0";
  if (usd < 0.01) return "<$0.01";
  return `$${usd < 100 ? usd.toFixed(2) : Math.round(usd)}`;
}

export function bytes(size: number): string {
  if (size < 1_024) return `${size} B`;
  return size < 1_048_576 ? `${Math.round(size / 1_024)} KB` : `${(size / 1_048_576).toFixed(1)} MB`;
}

export const plural = (many: number, one: string, more = `${one}s`): string => `${many} ${many === 1 ? one : more}`;

/** The end of a path, which says most: `…/shop/cart.py`. */
export function shortPath(path: string, parts = 2): string {
  const names = path.split("/").filter(Boolean);
  return names.length <= parts ? path : `…/${names.slice(-parts).join("/")}`;
}

/** As seen from a folder; as it is when it lies elsewhere. */
export function within(path: string, folder: string): string {
  const root = folder.endsWith("/") ? folder : `${folder}/`;
  return path.startsWith(root) ? path.slice(root.length) : path;
}

/** Letters without a shape, and blanks that are none on the keyboard. */
const SHAPELESS =
  "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5" +
  "\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0e\\ufeff" +
  "\\uffa0\\ufff9-\\ufffb\\u{1d159}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const HIDDEN = new RegExp(`([${SHAPELESS}])\\1*`, "gu");

/**
 * What has no shape of its own, or turns what follows around, is written out:
 * nothing may hide in a command. Many alike are counted.
 */
export function reveal(text: string): string {
  return text.replace(HIDDEN, (run, one: string) => {
    const code = one.codePointAt(0) as number;
    const name = code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
    const many = run.length / one.length;
    return many > 3 ? `${name}×${many} ` : name.repeat(many);
  });
}

const bare = (line: string): string =>
  line
    .replace(/^\s*(?:#{1,6}|>|[-*+]|\d+[.)])\s+/, "")
    .replace(/\*\*|__|~~|`+/g, "")
    .replace(/\s*\|\s*/g, " ")
    .trim();

/** The last line of a text that says something, without the marks of its markdown. */
export function lastLine(text: string): string {
  return (
    text
      .split("\n")
      .map(bare)
      .findLast((line) => /[\p{L}\p{N}]/u.test(line)) ?? ""
  );
}

/** All of a text in one line, without the marks of its markdown. */
export const inOneLine = (text: string): string => text.split("\n").map(bare).filter(Boolean).join(" ");
