// A form made from a question, and the answers that come of it.
import type { Field } from "./contract.ts";

/** What stands in a field of the form. `other` is what was said instead of the choices. */
export type Entry = { text: string; chosen: string[]; other: string; yes: boolean | undefined };

export const emptyEntry = (): Entry => ({ text: "", chosen: [], other: "", yes: undefined });

/** A form as it was left; what no longer fits its fields is not taken over. */
export function begun(fields: Field[], kept: Record<string, Partial<Entry>>): Record<string, Entry> {
  return Object.fromEntries(fields.map((field) => [field.id, { ...emptyEntry(), ...kept[field.id] }]));
}

/** What may be written down of a form, and what may not; neither when nothing was filled in. */
export function withoutSecrets(
  fields: Field[],
  entries: Record<string, Entry>,
): [open: Record<string, Entry> | undefined, secret: Record<string, Entry> | undefined] {
  const filled = fields.filter(({ id }) => {
    const entry = entries[id];
    return entry && (entry.text || entry.other || entry.chosen.length || entry.yes !== undefined);
  });
  const part = (secret: boolean) => {
    const found = filled
      .filter((field) => Boolean(field.secret) === secret)
      .map(({ id }): [string, Entry] => [id, entries[id] as Entry]);
    return found.length ? Object.fromEntries(found) : undefined;
  };
  return [part(false), part(true)];
}

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
export function collect(
  fields: Field[],
  entries: Record<string, Entry>,
): { answers: Record<string, unknown>; missing: string[] } {
  const answers: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const field of fields) {
    const answer = answerOf(field, entries[field.id] ?? emptyEntry());
    if (answer !== undefined) answers[field.id] = answer;
    else if (!field.optional) missing.push(field.id);
  }
  return { answers, missing };
}
