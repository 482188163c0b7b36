// Agents that are told to wait say so again and again: of a row of such notices the last is the news.
import type { TimelineItem } from "./contract.ts";
import { plural } from "./format.ts";

/** Which try it is, of how many and in how many seconds, as far as the agent says. */
export type Retry = { why: string; at?: number; of?: number; seconds: number };

const NO_ANSWER = "No answer from the model provider";

/** How agents say it, each in its way; a unit test has their own words. */
const SHAPES = [
  new RegExp(
    String.raw`^(?<why>.*?)[,;:.(]?\s*(?:this is\s+)?retry (?<at>\d+) of (?<of>\d+)` +
      String.raw`(?: (?:comes )?in (?<seconds>[\d.]+) ?s)?[.)]*$`,
    "is",
  ),
  /^(?<why>.*?); retrying(?: in (?<seconds>[\d.]+) s)?\.$/is,
  /^(?<why>.*?); trying again in (?<seconds>[\d.]+) s \((?<at>\d+) of (?<of>\d+)\)$/is,
  /^(?<why>.*?); \w+ tries again \(attempt (?<at>\d+)\)$/is,
  /^(?<lost>Reconnecting)\W*(?<at>\d+)\/(?<of>\d+)/i,
];

/** What a notice says about trying again, if that is what it is about. */
export function retryOf(item: TimelineItem | undefined): Retry | undefined {
  if (item?.kind !== "notice") return undefined;
  // The hub marks the notices of a session that was read from a file.
  const text = (item.text ?? "").trim().replace(/ \(imported\)$/, "");
  const match = SHAPES.map((shape) => shape.exec(text)?.groups).find(Boolean);
  if (!match) return undefined;
  const number = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits));
  return {
    why: match["lost"] ? "The connection to the model provider was lost" : plainWhy(match["why"] ?? ""),
    at: number(match["at"]),
    of: number(match["of"]),
    seconds: number(match["seconds"]) ?? 0,
  };
}

function plainWhy(words: string): string {
  if (/\b429\b|rate.?limit|too many requests/i.test(words)) return "Rate limited";
  if (/\b5\d\d\b|overload/i.test(words)) return "The model provider is overloaded";
  return (
    words
      .trim()
      .replace(/[.;,]$/, "")
      .replace(/^./u, (letter) => letter.toUpperCase()) || NO_ANSWER
  );
}

/** The line that counts: `left` seconds before the next try, or what has become of it when nobody tries any more. */
export function retryWords({ at, of, seconds }: Retry, left: number, live: boolean): string {
  const which = of ? ` (${at} of ${of})` : at ? ` (attempt ${at})` : "";
  if (!live)
    return of ? `Tried again ${at} of ${of} times.` : at ? `Tried again ${plural(at, "time")}.` : "Tried again.";
  return seconds && left > 0 ? `Next try in ${left} s${which}.` : `Trying again${which}…`;
}
