// Markdown as a list of blocks, kept while text is added: only the last block is read again.
//
// That is what makes a streaming answer cheap: all blocks but the last keep their identity, so they are not drawn anew.
import { Lexer, type Token, type TokensList } from "marked";

/** `key` is its place. A block that is not closed may still grow. */
export type Block = { key: number; token: Token; closed: boolean };

export class Blocks {
  private text = "";
  private blocks: Block[] = [];
  /** How many blocks, and how much of the text, will not change any more. */
  private settled = { blocks: 0, text: 0 };
  private links: TokensList["links"] = Object.create(null);

  /** The blocks of a text. Cheap when it is the last one with something added. */
  of(source: string, whole: boolean): Block[] {
    const text = source.replace(/\r\n?/g, "\n");
    if (!text.startsWith(this.text)) {
      this.text = "";
      this.settled = { blocks: 0, text: 0 };
      this.links = Object.create(null);
    }
    if (text !== this.text || whole === (this.blocks.at(-1)?.closed === false)) this.read(text, whole);
    return this.blocks;
  }

  private read(text: string, whole: boolean): void {
    const lexer = new Lexer({ gfm: true, breaks: false });
    Object.assign(lexer.tokens.links, this.links);
    const tokens = lexer.lex(text.slice(this.settled.text));
    this.links = tokens.links;
    const seen = tokens.filter((token) => token.type !== "space" && token.type !== "def");
    const open = whole ? undefined : seen.at(-1);
    const fresh = seen.map((token, at): Block => {
      const key = this.settled.blocks + at;
      const before = this.blocks[key];
      const closed = token !== open;
      return before && before.closed === closed && before.token.raw === token.raw && before.token.type === token.type
        ? before
        : { key, token, closed };
    });
    this.blocks = [...this.blocks.slice(0, this.settled.blocks), ...fresh];
    const raw = (list: Token[]) => list.reduce((sum, token) => sum + token.raw.length, 0);
    // The lexer may have tidied the text (tabs, say); then nothing is settled and all is read again.
    if (open && raw(tokens) === text.length - this.settled.text) {
      this.settled = { blocks: this.blocks.length - 1, text: text.length - raw(tokens.slice(tokens.indexOf(open))) };
    }
    this.text = text;
  }
}
