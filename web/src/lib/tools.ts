// Tool calls in words, the same as everywhere else: the twin of `describe` in the model, held by the same vectors.
import type { ToolCall, ToolKind, ToolOutcome } from "./contract.ts";

/**
 * How a tool is spoken of: while it runs, when it has ended well, without anything
 * it is about, and which arguments say that.
 */
type Tool = { doing: string; did: string; noun: string; of: string[]; path?: boolean };

const list = (names: string) => names.split(" ");
const PATH = list("path file_path filePath absolute_path filename file notebook_path");
const PATTERN = list("pattern query q regex");
const FOLDER = list("path dir_path directory dir");
const TASK = list("description task prompt task_description");
const PLAN = list("title content text explanation");

/** By all the names that agents give them, without underscores and capitals. No argument is the command. */
const TOOLS: [names: string, doing: string, did: string, noun: string, of: string[]][] = [
  [
    "bash shell execcommand bashcommand runshellcommand localshell usershell run execute terminal",
    "Running",
    "Ran",
    "a command",
    [],
  ],
  [
    "unifiedexec writestdin bashoutput readbash writebash",
    "Talking to a terminal",
    "Talked to a terminal",
    "a terminal",
    list("command input chars shellId session_id"),
  ],
  ["killshell killbash stopbash", "Stopping a command", "Stopped a command", "a command", list("shell_id shellId")],
  [
    "applypatch edit multiedit replace strreplace strreplaceeditor editfile updatefileinchanges",
    "Editing",
    "Edited",
    "files",
    PATH,
  ],
  ["write writefile create createfile addfiletochanges", "Writing", "Wrote", "a file", PATH],
  ["notebookedit", "Editing a notebook", "Edited a notebook", "a notebook", PATH],
  ["read readfile view readmanyfiles notebookread", "Reading", "Read", "a file", PATH],
  ["fetchfile", "Fetching file", "Fetched file", "a file", PATH],
  ["viewimage", "Looking at an image", "Looked at an image", "an image", PATH],
  ["list ls listdir listdirectory", "Listing", "Listed", "a folder", FOLDER],
  ["glob findfiles", "Looking for files", "Looked for files", "files", PATTERN],
  ["grep search searchfilecontent grepsearch codesearch", "Searching", "Searched", "a search", PATTERN],
  ["webfetch fetch browse", "Fetching", "Fetched", "a page", ["url", "prompt"]],
  ["websearch googlewebsearch", "Searching the web", "Searched the web", "a search of the web", PATTERN],
  ["updateplan todowrite writetodos todo", "Updating the plan", "Updated the plan", "the plan", PLAN],
  ["createtodo", "Adding to the plan", "Added to the plan", "the plan", PLAN],
  ["updatetodostatus", "Updating the plan", "Updated the plan", "the plan", list("title status id")],
  ["todoread", "Reading the plan", "Read the plan", "the plan", PLAN],
  ["exitplanmode", "Proposing a plan", "Proposed a plan", "a plan", PLAN],
  ["askuser askuserquestion question requestuserinput", "Asking", "Asked", "a question", list("question prompt text")],
  ["task agent spawnagent", "Delegating", "Delegated", "a task", TASK],
  ["thinkexecute", "Delegating to a sub-agent", "A sub-agent finished", "a task", TASK],
  ["savememory memory", "Remembering", "Remembered", "a fact", list("fact text content")],
  ["skill", "Using a skill", "Used a skill", "a skill", list("skill name command")],
  ["sleep wait", "Waiting", "Waited", "a while", list("seconds duration")],
];
const BY_NAME = new Map(
  TOOLS.flatMap(([names, doing, did, noun, of]) =>
    list(names).map((name): [string, Tool] => [name, { doing, did, noun, of, path: of === PATH || of === FOLDER }]),
  ),
);

const BY_KIND: Record<Exclude<ToolKind, "other">, Tool> = {
  execute: { doing: "Running", did: "Ran", noun: "a command", of: [] },
  read: { doing: "Reading", did: "Read", noun: "a file", of: PATH, path: true },
  edit: { doing: "Editing", did: "Edited", noun: "files", of: PATH, path: true },
  delete: { doing: "Deleting", did: "Deleted", noun: "a file", of: PATH, path: true },
  move: { doing: "Moving", did: "Moved", noun: "a file", of: PATH, path: true },
  search: { doing: "Searching", did: "Searched", noun: "a search", of: PATTERN },
  fetch: { doing: "Fetching", did: "Fetched", noun: "a page", of: ["url"] },
  think: { doing: "Thinking", did: "Thought", noun: "a thought", of: ["thought"] },
  delegate: { doing: "Delegating", did: "Delegated", noun: "a task", of: TASK },
};

/** Whether a call only tells the plan. */
export const tellsPlan = (call: Pick<ToolCall, "name">): boolean =>
  BY_NAME.get(plainName(call.name))?.noun === "the plan";

const plainName = (name: string): string =>
  name
    .replace(/^(delegate_to_)+/, "")
    .replaceAll("_", "")
    .toLowerCase();

function toolOf(call: ToolCall): Tool {
  const helper = /^delegate_to_(?!think_execute$)(.*)$/s.exec(call.name)?.[1];
  if (helper !== undefined)
    return { doing: `Delegating to ${helper}`, did: `${helper} finished`, noun: "a task", of: TASK };
  const known = BY_NAME.get(plainName(call.name)) ?? BY_KIND[call.kind as keyof typeof BY_KIND];
  return (
    known ?? {
      doing: `Using ${call.name}`,
      did: `Used ${call.name}`,
      noun: call.name,
      of: list("title name path query url"),
    }
  );
}

/** What is done, and to what: both may stand apart on screen. `code` is what is not a sentence. */
export type ToolWords = { verb: string; about: string; code: boolean };

/** What a call does, or did when it is over. */
export function toolWords(call: ToolCall, over: boolean): ToolWords {
  const tool = toolOf(call);
  const verb = over ? tool.did : tool.doing;
  const about = subject(call, tool);
  const code = Boolean(tool.path) || tool.of === PATTERN || commandOf(call) === about;
  // With nothing to say what it is about, a verb alone takes what such a tool is always about.
  return about || verb.includes(" ") || !tool.noun
    ? { verb, about, code }
    : { verb: `${verb} ${tool.noun}`, about, code };
}

/** In a line, while it runs. */
export const running = (call: ToolCall): string => line(toolWords(call, false));

/** In a line, when it has ended. */
export function finished(call: ToolCall, outcome: ToolOutcome): string {
  const tool = toolOf(call);
  const about = subject(call, tool) || tool.noun;
  const words = { failed: "Failed", declined: "Declined", cancelled: "Cancelled", completed: "Ended" } as const;
  if (outcome.status === "running" || (outcome.status === "completed" && !outcome.exitCode))
    return line(toolWords(call, outcome.status !== "running"));
  const code = outcome.status === "completed" || outcome.status === "failed" ? outcome.exitCode : undefined;
  return line({ verb: words[outcome.status] + (code == null ? "" : ` with exit code ${code}`), about });
}

const line = ({ verb, about }: Pick<ToolWords, "verb" | "about">): string => (about ? `${verb}: ${about}` : verb);

function subject(call: ToolCall, tool: Tool): string {
  const text = (tool.of.length ? undefined : commandOf(call)) ?? firstOf(call.input, tool.of) ?? "";
  const folder = `${(call.cwd ?? "").replace(/\/+$/, "")}/`;
  return firstLine(tool.path && call.cwd && text.startsWith(folder) ? text.slice(folder.length) : text);
}

/** The command line of a call that runs one. */
function commandOf(call: ToolCall): string | undefined {
  return call.command ?? firstOf(call.input, ["command", "cmd", "script"]);
}

function firstOf(input: unknown, keys: string[]): string | undefined {
  if (input === null || typeof input !== "object") return undefined;
  for (const key of keys) {
    const words = wordsOf((input as Record<string, unknown>)[key]);
    if (words !== undefined) return words;
  }
  return undefined;
}

/** A value that can be said in a line. */
function wordsOf(value: unknown): string | undefined {
  if (typeof value === "string") return value.trim() ? value : undefined;
  if (typeof value === "number") return String(value);
  if (Array.isArray(value) && value.length && value.every((word) => typeof word === "string")) return value.join(" ");
  return undefined;
}

const LONGEST = 120;

/** The first line that has something in it, cut at a length; a sign says that there is more. */
function firstLine(text: string): string {
  const lines = text
    .split("\n")
    .map((part) => part.trim())
    .filter(Boolean);
  const first = lines[0] ?? "";
  const cut = [...first].slice(0, LONGEST).join("");
  return cut.length < first.length || lines.length > 1 ? `${cut} …` : cut;
}
