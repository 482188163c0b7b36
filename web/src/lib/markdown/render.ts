// Markdown tokens as DOM nodes. No text of an agent ever becomes HTML: nodes are made one by one and texts are set as
// text, so there is nothing to sanitize. HTML in the text shows as what it is.
import type { Token, Tokens } from "marked";
import { safeHref } from "./links.ts";

/** Told of a block of code, which may be coloured later. */
export type OnCode = (code: HTMLElement, language: string, text: string) => void;

/**
 * Each has the direction of its own words. A list or a quotation has one for all
 * of its lines, so that its marks stand on one side.
 */
const DIRECTED = /^(p|ul|ol|blockquote|th|td|h[1-6])$/;

type Names = keyof HTMLElementTagNameMap;

function element<K extends Names>(
  name: K,
  children: (Node | string)[] = [],
  className?: string,
): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  if (DIRECTED.test(name)) node.dir = "auto";
  if (className) node.className = className;
  node.append(...children);
  return node;
}

export function renderBlock(token: Token, onCode: OnCode): Node {
  switch (token.type) {
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      // Below the title of the screen, whatever the agent thinks of itself, and never two steps at once.
      return element(depth <= 3 ? "h2" : "h3", inline(tokens), `depth-${depth}`);
    }
    case "paragraph":
      return element("p", inline((token as Tokens.Paragraph).tokens));
    case "code":
      return codeBlock(token as Tokens.Code, onCode);
    case "blockquote":
      return element("blockquote", undirected(blocks((token as Tokens.Blockquote).tokens, onCode)));
    case "list":
      return list(token as Tokens.List, onCode);
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return element("hr");
    case "html":
      return element("p", [token.raw.trimEnd()], "as-is");
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return element("p", tokens ? inline(tokens) : [unescaped(text)]);
    }
    default:
      return element("p", [token.raw]);
  }
}

function blocks(tokens: Token[], onCode: OnCode): Node[] {
  return tokens
    .filter((token) => token.type !== "space" && token.type !== "def")
    .map((token) => renderBlock(token, onCode));
}

/**
 * Paragraphs that follow what they stand in: a direction of their own would leave it without words to take one from.
 */
function undirected(nodes: Node[]): Node[] {
  for (const node of nodes) if (node instanceof HTMLParagraphElement) node.removeAttribute("dir");
  return nodes;
}

function codeBlock(token: Tokens.Code, onCode: OnCode): Node {
  const language = (token.lang ?? "").trim().split(/\s+/)[0] ?? "";
  const code = element("code", [token.text]);
  const pre = element("pre", [code]);
  pre.tabIndex = 0;
  const head = element("div", [element("span", [language || "text"])], "code-head");
  onCode(code, language, token.text);
  return element("div", [head, pre], "code-block");
}

function list(token: Tokens.List, onCode: OnCode): Node {
  const node = element(token.ordered ? "ol" : "ul");
  if (token.ordered && typeof token.start === "number" && token.start !== 1)
    (node as HTMLOListElement).start = token.start;
  for (const item of token.items) {
    const content = item.tokens
      .filter((part) => part.type !== "space" && (part.type as string) !== "checkbox")
      .flatMap((part): Node[] => {
        // The words of a tight list stand without a paragraph of their own.
        if (part.type === "text" && !item.loose) return inline((part as Tokens.Text).tokens ?? [part]);
        return [renderBlock(part, onCode)];
      });
    const line = element("li", undirected(content));
    if (item.task) {
      const box = element("input");
      box.type = "checkbox";
      box.checked = Boolean(item.checked);
      box.disabled = true;
      box.setAttribute("aria-label", item.checked ? "done" : "to do");
      line.className = "task";
      line.prepend(box);
    }
    node.append(line);
  }
  return node;
}

function table(token: Tokens.Table): Node {
  const row = (cells: Tokens.TableCell[], name: "th" | "td") =>
    element(
      "tr",
      cells.map((cell, at) => {
        const align = token.align[at];
        return element(name, inline(cell.tokens), align ? `to-${align}` : undefined);
      }),
    );
  const node = element("table", [
    element("thead", [row(token.header, "th")]),
    element(
      "tbody",
      token.rows.map((cells) => row(cells, "td")),
    ),
  ]);
  const frame = element("div", [node], "table-frame");
  frame.tabIndex = 0;
  return frame;
}

function inline(tokens: Token[]): Node[] {
  return tokens.map((token): Node => {
    switch (token.type) {
      case "strong":
        return element("strong", inline((token as Tokens.Strong).tokens));
      case "em":
        return element("em", inline((token as Tokens.Em).tokens));
      case "del":
        return element("del", inline((token as Tokens.Del).tokens));
      case "codespan":
        return element("code", [(token as Tokens.Codespan).text]);
      case "br":
        return element("br");
      case "link":
        return link(token as Tokens.Link);
      case "image":
        return picture(token as Tokens.Image);
      case "text": {
        const { tokens: within, text } = token as Tokens.Text;
        return within ? element("span", inline(within)) : document.createTextNode(unescaped(text));
      }
      case "escape":
        return document.createTextNode((token as Tokens.Escape).text);
      default:
        return document.createTextNode(token.raw);
    }
  });
}

function link(token: Tokens.Link): Node {
  const href = safeHref(token.href);
  const children = inline(token.tokens);
  // Agents link to files of the work tree; there is nothing to open, but the name is worth showing.
  if (!href) return element("span", children, "no-link");
  const node = element("a", children);
  node.href = href;
  node.target = "_blank";
  node.rel = "noopener noreferrer nofollow";
  return node;
}

/** Pictures from elsewhere are not fetched: their address alone could carry away what the agent knows. */
function picture(token: Tokens.Image): Node {
  const href = safeHref(token.href);
  const words = token.text || token.href;
  if (!href) return element("span", [words], "no-link");
  const node = element("a", [`▢ ${words}`]);
  node.href = href;
  node.target = "_blank";
  node.rel = "noopener noreferrer nofollow";
  return node;
}

const NAMED: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  copy: "©",
  rarr: "→",
  larr: "←",
  times: "×",
};

/** Texts may name characters (`&amp;`); they are put in as the characters they are. */
export function unescaped(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name) return NAMED[name] ?? whole;
      const code = decimal ? Number(decimal) : Number.parseInt(hex as string, 16);
      return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
    },
  );
}
