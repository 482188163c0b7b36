// Keyboard shortcuts: one table, which the help sheet shows and the listener obeys.
export type Shortcut = { keys: string; does: string; where: string };

export const SHORTCUTS: Shortcut[] = [
  { keys: "?", does: "show this help", where: "Everywhere" },
  { keys: "g i", does: "go to the inbox", where: "Everywhere" },
  { keys: "g s", does: "go to sessions", where: "Everywhere" },
  { keys: "g m", does: "go to machines and devices", where: "Everywhere" },
  { keys: "g u", does: "go to usage", where: "Everywhere" },
  { keys: "n", does: "new session", where: "Everywhere" },
  { keys: "/", does: "search", where: "Everywhere" },
  { keys: "j", does: "next", where: "Lists" },
  { keys: "k", does: "previous", where: "Lists" },
  { keys: "y", does: "allow once (the focused approval, or the newest of the session)", where: "Approvals" },
  { keys: "x", does: "deny", where: "Approvals" },
  { keys: "d", does: "deny with a message", where: "Approvals" },
  { keys: "i", does: "write to the agent", where: "Session" },
  { keys: "c", does: "changed files", where: "Session" },
  { keys: "G", does: "jump to the latest", where: "Session" },
  { keys: "Escape", does: "close, or leave the text", where: "Everywhere" },
  { keys: "Enter", does: "send (Shift+Enter: new line)", where: "Composer" },
  { keys: "Control+Enter", does: "steer, where the agent can be", where: "Composer" },
];

type KeyPress = { key: string; ctrlKey: boolean; metaKey: boolean; altKey: boolean; repeat: boolean };

/** Tells which shortcut a key completes. A `g` waits a second for the key that follows. */
export class Keys {
  private pending: { key: string; at: number } | undefined;

  press(event: KeyPress, typing: boolean, now: number): string | undefined {
    if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
    if (typing) return event.key === "Escape" ? "Escape" : undefined;
    const before = this.pending && now - this.pending.at < 1_000 ? `${this.pending.key} ` : "";
    this.pending = undefined;
    const keys = before + event.key;
    // A key that is held down leads through a list, and does nothing else twice.
    const found = SHORTCUTS.find((shortcut) => shortcut.keys === keys && (!event.repeat || shortcut.where === "Lists"));
    if (found) return keys;
    if (SHORTCUTS.some((shortcut) => shortcut.keys.startsWith(`${event.key} `)))
      this.pending = { key: event.key, at: now };
    return undefined;
  }
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
