// Short words about what just happened, which go away by themselves.
import { ConnectionLost, Refusal } from "../lib/socket.ts";

export type Toast = { id: number; text: string; bad: boolean; undo?: () => void };

class Toasts {
  list = $state.raw<Toast[]>([]);
  private nextId = 1;

  say(text: string, bad = false): void {
    this.show({ id: this.nextId++, text, bad });
  }

  /** Said with a way back, for long enough to take it. */
  withUndo(text: string, undo: () => void): void {
    this.show({ id: this.nextId++, text, bad: false, undo });
  }

  private show(toast: Toast): void {
    this.list = [...this.list.slice(-2), toast];
    setTimeout(() => this.drop(toast.id), toast.undo ? 10_000 : toast.bad ? 8_000 : 4_000);
  }

  drop(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }

  /** Does something, and says so when it fails. */
  async trying<T>(deed: Promise<T>): Promise<T | undefined> {
    try {
      return await deed;
    } catch (error) {
      this.say(wordsOf(error), true);
      return undefined;
    }
  }
}

export function wordsOf(error: unknown): string {
  if (error instanceof Refusal)
    return error.problem.hint ? `${error.problem.title}. ${error.problem.hint}` : error.problem.title;
  if (error instanceof ConnectionLost) return "Can't reach the hub. Try again when you're back online.";
  return error instanceof Error ? error.message : String(error);
}

export const toasts = new Toasts();
