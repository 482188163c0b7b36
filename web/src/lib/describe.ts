// What things are called on screen. The only place that turns the hub's words into sentences.
import type { Activity, Decision, Field, Mode, OpenQuestion, Session, SleepCause, Subject, ToolCall, ToolStatus, TurnEnd, TurnErrorCode, FileChange } from "./contract.ts";
import { toolSaid, type Said } from "./tools.ts";
import { cost, count, duration, plural, shortPath, within } from "./format.ts";

/** How a session stands, in one word and one tone. */
export type Standing = { word: string; tone: "live" | "wait" | "calm" | "rest" | "bad" };

export function standing(session: Pick<Session, "activity" | "status">): Standing {
  const byActivity: Record<Activity, Standing | undefined> = {
    starting: { word: "starting", tone: "live" },
    working: { word: "working", tone: "live" },
    waiting: { word: "waits for you", tone: "wait" },
    closed: { word: "closed", tone: "rest" },
    idle: undefined,
    sleeping: undefined,
  };
  const now = byActivity[session.activity];
  if (now) return now;
  if (session.status === "error") return { word: "failed", tone: "bad" };
  if (session.activity === "sleeping") return { word: "sleeping", tone: "rest" };
  return { word: session.status === "interrupted" ? "stopped" : "idle", tone: "calm" };
}

/** A shell around the command is the agent's way of calling it, not what is called. */
export function bareCommand(command: string): string {
  const match = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh\s+-l?c\s+(['"])([\s\S]*)\1$/.exec(command.trim());
  if (!match) return command;
  const [, quote, inner] = match as unknown as [string, string, string];
  if (quote === "'") return inner.includes("'") && !inner.includes("'\\''") ? command : inner.replaceAll("'\\''", "'");
  return /(^|[^\\])"/.test(inner) ? command : inner.replace(/\\(["\\$`])/g, "$1");
}

/** What a call does and to what. Files that it changes say that best. */
export function toolLine(call: ToolCall, changes: FileChange[], over: boolean, cwd: string): Said {
  const said = toolSaid(call.command ? { ...call, command: bareCommand(call.command) } : call, over);
  if (changes.length > 1) return { ...said, verb: verbAlone(said.verb), about: plural(changes.length, "file"), code: false };
  if (changes[0]) return { ...said, verb: verbAlone(said.verb), about: within(changes[0].path, cwd), code: true };
  return said.code ? { ...said, about: within(said.about, cwd) } : said;
}

/** Where it stands before names of files, `Edited files` says it twice. */
const verbAlone = (verb: string): string => verb.replace(/ (a file|files)$/, "");

export const toolStatusWord: Record<ToolStatus, string> = {
  running: "running",
  completed: "done",
  failed: "failed",
  declined: "declined",
  cancelled: "stopped",
};

export function decisionWord(decision: Decision): string {
  const words: Record<Decision, string> = {
    allow_once: "Allow once",
    allow_session: "For this session",
    allow_always: "Always",
    deny: "Deny",
    cancel: "Deny and stop",
  };
  return words[decision] ?? decision;
}

export function decidedWord(decision: Decision): string {
  const words: Record<Decision, string> = {
    allow_once: "allowed once",
    allow_session: "allowed for this session",
    allow_always: "always allowed",
    deny: "denied",
    cancel: "denied, turn stopped",
  };
  return words[decision] ?? decision;
}

export const allows = (decision: Decision): boolean => decision.startsWith("allow");

/** The question that an approval puts. */
export function approvalTitle(subject: Subject): string {
  switch (subject.kind) {
    case "command":
      return "Run this command?";
    case "edit":
      return subject.changes.length > 1 ? `Change ${subject.changes.length} files?` : "Change this file?";
    case "tool":
      return `Use ${subject.name}?`;
    case "plan":
      return "Go ahead with this plan?";
    case "permissions":
      return "Allow more than the mode gives?";
  }
}

/** One line of what would happen. */
export function approvalLine(subject: Subject, cwd: string): string {
  switch (subject.kind) {
    case "command":
      return bareCommand(subject.command);
    case "edit":
      return subject.changes.map((change) => within(change.path, cwd)).join(", ") || "the changes above";
    case "tool":
      return toolLine({ name: subject.name, kind: "other", input: subject.input }, [], false, cwd).about || subject.name;
    case "plan":
      return subject.plan.split("\n").find((line) => line.trim()) ?? "its plan";
    case "permissions":
      return JSON.stringify(subject.permissions);
  }
}

export const questionLine = (question: Pick<OpenQuestion, "text" | "fields">): string => question.text || question.fields[0]?.text || question.fields[0]?.label || "The agent has a question";

export const fieldText = (field: Field): string => field.text || field.label || field.id;

export function modeWord(mode: Mode): { word: string; means: string } {
  const words: Record<Mode, { word: string; means: string }> = {
    plan: { word: "Plan", means: "reads and thinks, changes nothing" },
    ask: { word: "Ask", means: "asks before it acts" },
    "auto-edit": { word: "Auto-edit", means: "edits files by itself, asks for the rest" },
    full: { word: "Full", means: "does everything by itself" },
  };
  return words[mode] ?? { word: mode, means: "" };
}

const TURN_ERRORS: Record<TurnErrorCode, string> = {
  usage_limit: "The account's allowance is used up",
  rate_limited: "The model's service asks for patience",
  overloaded: "The model's service is overloaded",
  context_window: "The conversation no longer fits into the model's memory",
  unauthorized: "The agent is not logged in",
  network: "The agent has no connection to its model",
  timeout: "It took too long",
  agent_gone: "The agent ended in the middle of the turn",
  agent_unavailable: "The agent could not be started",
  hub_restarted: "The hub was restarted in the middle of the turn",
  other: "The turn failed",
};

export function turnError(end: TurnEnd): { title: string; message: string } | undefined {
  if (!end.error) return undefined;
  return { title: TURN_ERRORS[end.error.code] ?? TURN_ERRORS.other, message: end.error.message };
}

/** The figures under a turn. */
export function turnFigures(end: TurnEnd): string[] {
  const { usage } = end;
  const figures = [end.durationMs == null ? "" : duration(end.durationMs)];
  if (usage?.input) figures.push(`${count(usage.input)} in`);
  if (usage?.output) figures.push(`${count(usage.output)} out`);
  if (end.costUsd) figures.push(cost(end.costUsd));
  return figures.filter(Boolean);
}

export function turnWord(end: TurnEnd): string {
  return { completed: "Done", failed: "Failed", interrupted: "Stopped" }[end.outcome];
}

export const sleepWord: Record<SleepCause, string> = {
  exited: "the agent ended",
  failed_to_start: "the agent did not start",
  stopped: "the agent was put to sleep",
  hub_restarted: "the hub was restarted",
  log_failed: "the log could not be written",
  released: "it was handed back to the agent's own terminal",
  idle: "nobody needed it for a while",
};

export const sessionTitle = (session: Pick<Session, "title" | "cwd">): string => session.title || `New in ${shortPath(session.cwd, 1)}`;

export const projectOf = (session: Pick<Session, "project" | "cwd">): string => session.project || shortPath(session.cwd, 1);

/** The machine that a session runs on, where the hub says so. */
export function machineOf(session: Pick<Session, "metadata">): string | undefined {
  const name = session.metadata?.["machine"];
  return typeof name === "string" && name ? name : undefined;
}

/** What happens to a file, as one letter and one word. */
export const changeWord = { add: ["A", "new"], update: ["M", "changed"], delete: ["D", "deleted"] } as const;
