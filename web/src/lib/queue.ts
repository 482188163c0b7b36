// The order of prompts that wait.

/** The same prompts, with one of them at another place. */
export function reordered(order: string[], prompt: string, to: number): string[] {
  const others = order.filter((one) => one !== prompt);
  const place = Math.min(others.length, Math.max(0, to));
  return [...others.slice(0, place), prompt, ...others.slice(place)];
}
