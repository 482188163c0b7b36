// A form made from a question, and the answers that come of it.
import type { Field } from "./contract.ts";

/** What stands in a field of the form. `other` is what was said instead of the choices. */
export type Entry = { text: string; chosen: string[]; other: string; yes: boolean | undefined };

export const emptyEntry = (): Entry => ({ text: "", chosen: [], other: "", yes: undefined });

/** The answer of a field; undefined while there is none. */
export function answerOf(field: Field, entry: Entry): unknown {
  const other = field.open ? entry.other.trim() : "";
  switch (field.kind) {
    case "one":
      return other || entry.chosen[0];
    case "many": {
      const all = other ? [...entry.chosen, other] : entry.chosen;
      return all.length ? all : undefined;
    }
    case "boolean":
      return entry.yes;
    case "number":
    case "integer": {
      const figure = Number(entry.text.trim().replace(",", "."));
      if (!entry.text.trim() || !Number.isFinite(figure)) return undefined;
      return field.kind === "integer" && !Number.isInteger(figure) ? undefined : figure;
    }
    case "text":
      return entry.text.trim() ? entry.text : undefined;
  }
}

/** The answers by field, and the fields that still want one. */
export function collect(fields: Field[], entries: Record<string, Entry>): { answers: Record<string, unknown>; missing: string[] } {
  const answers: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const field of fields) {
    const answer = answerOf(field, entries[field.id] ?? emptyEntry());
    if (answer !== undefined) answers[field.id] = answer;
    else if (!field.optional) missing.push(field.id);
  }
  return { answers, missing };
}
