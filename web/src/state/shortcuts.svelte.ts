// Keys, obeyed by whatever is on screen: the newest listener of a key wins, and
// what stands beside gives way to all others.
import { onDestroy } from "svelte";
import { isTyping, Keys } from "../lib/keys.ts";

const listeners = new Map<string, (() => void)[]>();
const keys = new Keys();

/** Obeys a shortcut as long as the component is there. */
export function shortcut(name: string, act: () => void, beside = false): void {
  const list = listeners.get(name) ?? [];
  listeners.set(name, beside ? [act, ...list] : [...list, act]);
  onDestroy(() =>
    listeners.set(
      name,
      (listeners.get(name) ?? []).filter((other) => other !== act),
    ),
  );
}

export function onShortcut(event: KeyboardEvent): void {
  if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const typing = isTyping(event.target);
  const pressed = keys.press(event, typing, event.timeStamp);
  if (!pressed) return;
  if (pressed === "Escape" && typing) return (event.target as HTMLElement).blur();
  const act = listeners.get(pressed)?.at(-1);
  if (!act) return;
  event.preventDefault();
  act();
}

/** Moves the focus among the rows of a list. */
export function moveFocus(by: 1 | -1, selector: string): void {
  const rows = [...document.querySelectorAll<HTMLElement>(selector)].filter((row) => row.offsetParent !== null);
  const at = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}
