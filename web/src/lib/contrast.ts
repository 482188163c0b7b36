// Colours that programs ask for, made legible: a program does not know on what its output will be shown.
import type { Run } from "./ansi.ts";

type Rgb = [number, number, number];
/** What output stands on, in the light and in the dark. */
const GROUND: { light: Rgb; dark: Rgb } = { light: [0xf2, 0xf2, 0xee], dark: [0x12, 0x17, 0x1a] };
const ENOUGH = 4.6;

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((part) =>
    part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  ) as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** Nearer to black or white, until it can be read. */
function moved(colour: Rgb, to: number, ground: Rgb): Rgb {
  for (let step = 0; step <= 20; step++) {
    const now = colour.map((part) => Math.round(part + ((to - part) * step) / 20)) as Rgb;
    if (contrast(now, ground) >= ENOUGH) return now;
  }
  return [to, to, to];
}

export function rgbOf(colour: string | undefined): Rgb | undefined {
  const parts = /^rgb\((\d+) (\d+) (\d+)\)$/
    .exec(colour ?? "")
    ?.slice(1)
    .map(Number);
  return parts as Rgb | undefined;
}

const css = (colour: Rgb): string => `rgb(${colour.join(" ")})`;

/**
 * The colour of a run's letters. The theme's own colours are legible as they are;
 * on a background they are black or white.
 */
export function letters({ fg, bg }: Pick<Run, "fg" | "bg">): string | undefined {
  const [front, back] = [rgbOf(fg), rgbOf(bg)];
  // The theme's colours are dark in the light and light in the dark.
  if (bg && !back) return "light-dark(#ffffff, #101415)";
  if (back)
    return front && contrast(front, back) >= ENOUGH
      ? css(front)
      : contrast([0, 0, 0], back) >= contrast([255, 255, 255], back)
        ? "#000000"
        : "#ffffff";
  return front ? `light-dark(${css(moved(front, 0, GROUND.light))}, ${css(moved(front, 255, GROUND.dark))})` : fg;
}
