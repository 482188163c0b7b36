// Agents that are told to wait say so again and again: of a row of such notices the last is the news.
import type { TimelineItem } from "./contract.ts";

export type Retry = { why: string; at: number; of: number; seconds: number };

const TOLD = /^(.*?)[,;:.(]?\s*(?:this is\s+)?retry (\d+) of (\d+)(?: (?:comes )?in ([\d.]+) ?s)?[.)]*$/is;

/** What a notice says about trying again, if that is what it is about. */
export function retryOf(item: TimelineItem | undefined): Retry | undefined {
  if (item?.kind !== "notice") return undefined;
  // The hub marks the notices of a session that was read from a file.
  const text = (item.text ?? "").trim().replace(/ \(imported\)$/, "");
  const again = /^Reconnecting\W*(\d+)\/(\d+)/i.exec(text);
  if (again) return { why: "The connection to the model provider was lost", at: Number(again[1]), of: Number(again[2]), seconds: 0 };
  const told = TOLD.exec(text);
  if (!told) return undefined;
  const [, words = "", at, of, seconds] = told;
  const why = /\b429\b|rate.?limit/i.test(words) ? "Rate limited" : /\b(5\d\d)\b|overload/i.test(words) ? "The model provider is overloaded" : words.trim().replace(/[.;,]$/, "") || "No answer from the model provider";
  return { why, at: Number(at), of: Number(of), seconds: Number(seconds ?? 0) };
}
