// Finds the objects of a stream, wherever the network cuts it. What stands between objects is skipped, so bare objects,
// lines and server-sent events are all read in the same way.
import type { Chunk } from "./wire.ts";

export class Splitter {
  /** The object that has begun, as far as it has come. */
  private held = "";
  private depth = 0;
  private inString = false;
  private escaped = false;

  /** The objects that end in this piece. */
  push(piece: string): Chunk[] {
    const found: Chunk[] = [];
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const letter = piece[at];
      if (this.inString) {
        if (this.escaped) this.escaped = false;
        else if (letter === "\\") this.escaped = true;
        else if (letter === '"') this.inString = false;
      } else if (letter === '"') {
        // A quote between objects begins nothing.
        this.inString = this.depth > 0;
      } else if (letter === "{") {
        if (this.depth++ === 0) from = at;
      } else if (letter === "}" && this.depth > 0 && --this.depth === 0) {
        const chunk = parsed(this.held + piece.slice(from, at + 1));
        if (chunk) found.push(chunk);
        this.held = "";
      }
    }
    if (this.depth > 0) this.held += piece.slice(from);
    return found;
  }

  /** Whether an object has begun that did not end. */
  get isOpen(): boolean {
    return this.depth > 0;
  }
}

function parsed(text: string): Chunk | undefined {
  try {
    return JSON.parse(text) as Chunk;
  } catch {
    return undefined;
  }
}
