// Prompts that wait: their order, and how many of them are held.
import type { Session } from "./contract.ts";

/** How many prompts of a session wait until somebody sends them on. */
export const heldIn = (session: Pick<Session, "queue">): number =>
  (session.queue ?? []).filter((prompt) => prompt.held).length;

/** What a resume does with the prompts that a restart of the hub holds: it sends them on. */
export function afterResume(session: Pick<Session, "queue" | "cutByRestart">): string {
  const held = session.cutByRestart ? heldIn(session) : 0;
  return ["", "Resume sends the held prompt after it."][held] ?? `Resume sends the ${held} held prompts after it.`;
}

/** The same prompts, with one of them at another place. */
export function reordered(order: string[], prompt: string, to: number): string[] {
  const others = order.filter((one) => one !== prompt);
  const place = Math.min(others.length, Math.max(0, to));
  return [...others.slice(0, place), prompt, ...others.slice(place)];
}
