// What a terminal would show: colours of ANSI sequences as runs of text, everything else of them taken out.

/** A run of text in one style. Colours 0-15 are the theme's own; others are CSS colours. */
export type Run = { text: string; fg?: string; bg?: string; bold?: true; dim?: true; italic?: true; underline?: true };
type Style = Omit<Run, "text">;

// CSI ... letter, OSC ... BEL or ST, and two-letter escapes.
const SEQUENCE = /\x1b\[([0-?]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]|\x1b[ -/][0-~]/g;
const UNSEEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** The lines of an output, each a list of runs. */
export function ansiLines(output: string): Run[][] {
  const lines: Run[][] = [];
  let style: Style = {};
  for (const raw of output.replace(/\r\n/g, "\n").split("\n")) {
    const line: Run[] = [];
    let at = 0;
    for (const match of raw.matchAll(SEQUENCE)) {
      write(line, raw.slice(at, match.index), style);
      if (match[2] === "m") style = restyled(style, match[1] ?? "");
      at = match.index + match[0].length;
    }
    write(line, raw.slice(at), style);
    lines.push(line);
  }
  return lines;
}

/** The words alone. */
export function plainText(output: string): string {
  return ansiLines(output)
    .map((line) => line.map((run) => run.text).join(""))
    .join("\n");
}

/** A carriage return writes the line anew, as progress bars do. */
function write(line: Run[], text: string, style: Style): void {
  const cut = text.replace(/\r+$/, "").lastIndexOf("\r");
  if (cut >= 0) line.length = 0;
  const seen = text
    .slice(cut + 1)
    .replaceAll("\r", "")
    .replace(UNSEEN, "");
  if (seen) line.push({ ...style, text: seen });
}

function restyled(style: Style, codes: string): Style {
  const next: Style = { ...style };
  const list = codes.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  for (let at = 0; at < list.length; at++) {
    const code = list[at] as number;
    if (code === 0) for (const name of Object.keys(next)) delete next[name as keyof Style];
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.underline = true;
    else if (code === 22) (delete next.bold, delete next.dim);
    else if (code === 23) delete next.italic;
    else if (code === 24) delete next.underline;
    else if (code === 39) delete next.fg;
    else if (code === 49) delete next.bg;
    else if (code >= 30 && code <= 37) next.fg = named(code - 30);
    else if (code >= 90 && code <= 97) next.fg = named(code - 82);
    else if (code >= 40 && code <= 47) next.bg = named(code - 40);
    else if (code >= 100 && code <= 107) next.bg = named(code - 92);
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(list.slice(at + 1));
      if (colour) next[code === 38 ? "fg" : "bg"] = colour;
      at += used;
    }
  }
  return next;
}

const named = (index: number): string => `var(--ansi-${index})`;

function extended(rest: number[]): [string | undefined, number] {
  if (rest[0] === 5) return [indexed(rest[1]), 2];
  if (rest[0] !== 2) return [undefined, 0];
  const [red, green, blue] = rest.slice(1, 4);
  const fits = [red, green, blue].every((part) => part !== undefined && part >= 0 && part <= 255);
  return [fits ? `rgb(${red} ${green} ${blue})` : undefined, 4];
}

function indexed(index: number | undefined): string | undefined {
  if (index === undefined || !(index >= 0 && index <= 255)) return undefined;
  if (index < 16) return named(index);
  if (index >= 232) {
    const grey = (index - 232) * 10 + 8;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const cube = [0, 95, 135, 175, 215, 255];
  const rest = index - 16;
  return `rgb(${cube[Math.floor(rest / 36)]} ${cube[Math.floor(rest / 6) % 6]} ${cube[rest % 6]})`;
}
