// Colours for code. The highlighter and each of its languages are fetched when they are first needed.
import type { HLJSApi, LanguageFn } from "highlight.js";

type LanguageModule = { default: LanguageFn };
const LANGUAGES: Record<string, () => Promise<LanguageModule>> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  csharp: () => import("highlight.js/lib/languages/csharp"),
  css: () => import("highlight.js/lib/languages/css"),
  diff: () => import("highlight.js/lib/languages/diff"),
  dockerfile: () => import("highlight.js/lib/languages/dockerfile"),
  go: () => import("highlight.js/lib/languages/go"),
  ini: () => import("highlight.js/lib/languages/ini"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  kotlin: () => import("highlight.js/lib/languages/kotlin"),
  makefile: () => import("highlight.js/lib/languages/makefile"),
  markdown: () => import("highlight.js/lib/languages/markdown"),
  php: () => import("highlight.js/lib/languages/php"),
  python: () => import("highlight.js/lib/languages/python"),
  ruby: () => import("highlight.js/lib/languages/ruby"),
  rust: () => import("highlight.js/lib/languages/rust"),
  scss: () => import("highlight.js/lib/languages/scss"),
  sql: () => import("highlight.js/lib/languages/sql"),
  swift: () => import("highlight.js/lib/languages/swift"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};
const CALLED: Record<string, string> = {
  sh: "bash",
  shell: "bash",
  zsh: "bash",
  console: "bash",
  h: "c",
  "c++": "cpp",
  cc: "cpp",
  hpp: "cpp",
  cs: "csharp",
  docker: "dockerfile",
  toml: "ini",
  conf: "ini",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  jsonc: "json",
  jsonl: "json",
  kt: "kotlin",
  make: "makefile",
  md: "markdown",
  py: "python",
  rb: "ruby",
  rs: "rust",
  ts: "typescript",
  tsx: "typescript",
  html: "xml",
  svg: "xml",
  svelte: "xml",
  vue: "xml",
  yml: "yaml",
  patch: "diff",
};
/** Longer code stays plain: colouring it would be felt. */
const LONGEST = 60_000;

let engine: Promise<HLJSApi> | undefined;
const ready = new Map<string, Promise<boolean>>();

/** The coloured code, or nothing where the language is not known or cannot be fetched: then it stays plain. */
export async function highlighted(language: string, text: string): Promise<DocumentFragment | undefined> {
  const lower = language.toLowerCase();
  const name = CALLED[lower] ?? lower;
  const load = LANGUAGES[name];
  if (!load || text.length > LONGEST) return undefined;
  try {
    engine ??= import("highlight.js/lib/core").then((module) => module.default);
    const hljs = await engine;
    if (!ready.has(name))
      ready.set(
        name,
        load().then((module) => (hljs.registerLanguage(name, module.default), true)),
      );
    await ready.get(name);
    return spans(hljs.highlight(text, { language: name, ignoreIllegals: true }).value);
  } catch {
    // The next one tries anew.
    engine = undefined;
    ready.delete(name);
    return undefined;
  }
}

/** A piece of a line in one colour. */
export type ColouredText = { text: string; className: string };

/** The same, line by line. */
export async function highlightedLines(language: string, lines: string[]): Promise<ColouredText[][] | undefined> {
  const all = await highlighted(language, lines.join("\n"));
  if (!all) return undefined;
  const found: ColouredText[][] = [[]];
  const walk = (node: Node, className: string): void => {
    for (const child of node.childNodes) {
      if (child.nodeType !== Node.TEXT_NODE) walk(child, (child as Element).className || className);
      else
        (child.textContent ?? "").split("\n").forEach((text, at) => {
          if (at > 0) found.push([]);
          if (text) found.at(-1)?.push({ text, className });
        });
    }
  };
  walk(all, "");
  return found.length === lines.length ? found : undefined;
}

/** Takes over texts and the classes of spans, and nothing else: what the highlighter wrote is not trusted either. */
function spans(html: string): DocumentFragment {
  const copy = (from: Node, to: Node): void => {
    for (const child of from.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) to.appendChild(document.createTextNode(child.textContent ?? ""));
      else if (child instanceof Element) {
        const span = document.createElement("span");
        span.className = [...child.classList].filter((name) => /^(hljs-)?[a-z_]+$/.test(name)).join(" ");
        copy(child, span);
        to.appendChild(span);
      }
    }
  };
  const fragment = document.createDocumentFragment();
  copy(new DOMParser().parseFromString(`<pre>${html}</pre>`, "text/html").body.firstChild as Node, fragment);
  return fragment;
}

/** The language of a file, by its name. */
export function languageOf(path: string): string {
  const name = path.split("/").at(-1) ?? "";
  if (/^(Dockerfile|Makefile)/.test(name)) return name.startsWith("D") ? "dockerfile" : "makefile";
  return name.includes(".") ? (name.split(".").at(-1) as string) : "";
}
