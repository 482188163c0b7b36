// An agent as two letters on a colour, both made from its name: no agent is known here, and no two look alike.
export type Mark = { letters: string; hue: number };

type NamedAgent = { name: string; title: string };

/** Words of a title, without what stands around them. */
const wordsOf = (title: string): string[] => title.split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/** Two letters, the likeliest first. */
function* candidates(title: string): Iterable<string> {
  const words = wordsOf(title);
  const first = words[0] ?? "?";
  for (const other of words.slice(1)) yield first.charAt(0) + other.charAt(0);
  for (const letter of first.slice(1)) yield first.charAt(0) + letter;
  for (const other of words.slice(1)) for (const letter of other.slice(1)) yield first.charAt(0) + letter;
  yield first.charAt(0);
}

const hueOf = (name: string): number => [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
const apart = (a: number, b: number): number => Math.min(Math.abs(a - b), 360 - Math.abs(a - b));

/** The marks of all agents; who comes first keeps what both would like. */
export function marksOf(agents: NamedAgent[]): Map<string, Mark> {
  const marks = new Map<string, Mark>();
  for (const { name, title } of agents) {
    const taken = [...marks.values()];
    const all = [...candidates(title)].map((letters) => letters.toUpperCase());
    const letters = all.find((one) => !taken.some((mark) => mark.letters === one)) ?? all[0] ?? "?";
    let hue = hueOf(name);
    // Room for all of them, as long as there is any.
    const room = Math.min(24, 320 / agents.length);
    for (let turn = 0; turn < 24 && taken.some((mark) => apart(mark.hue, hue) < room); turn++) hue = (hue + 37) % 360;
    marks.set(name, { letters, hue });
  }
  return marks;
}

/** Before the agents are known, and for one that is no longer there. */
export const markOf = (name: string): Mark => marksOf([{ name, title: name }]).get(name) as Mark;
