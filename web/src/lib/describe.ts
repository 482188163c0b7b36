// What things are called on screen. The only place that turns the hub's words into sentences.
import type { Activity, Decision, Field, Mode, ModelInfo, Session, Subject, ToolCall, ToolOutcome, ToolStatus, TurnEnd, TurnErrorCode, FileChange } from "./contract.ts";
import { toolSaid, type Said } from "./tools.ts";
import { cost, count, duration, lastLine, plural, shortPath, within } from "./format.ts";

/** How a session stands, in one word and one tone. */
export type Standing = { word: string; tone: "live" | "wait" | "calm" | "rest" | "bad" };

export function standing(session: Pick<Session, "activity" | "status" | "cutByRestart">): Standing {
  const byActivity: Record<Activity, Standing | undefined> = {
    starting: { word: "starting", tone: "live" },
    working: { word: "working", tone: "live" },
    waiting: { word: "needs you", tone: "wait" },
    closed: { word: "ended", tone: "rest" },
    idle: undefined,
    sleeping: undefined,
  };
  const now = byActivity[session.activity];
  if (now) return now;
  if (session.cutByRestart) return { word: "interrupted", tone: "wait" };
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

/** How a call ended that did not end well: its code says more than that it failed. */
export const exitWord = (outcome: ToolOutcome): string => (outcome.status === "failed" && outcome.exitCode ? `exit ${outcome.exitCode}` : toolStatusWord[outcome.status]);

/** What a button says. A plan is gone ahead with, not allowed. */
export function decisionWord(decision: Decision, subject?: Subject): string {
  const words: Record<Decision, string> = {
    allow_once: "Allow once",
    allow_session: "Allow for this session",
    allow_always: "Always allow",
    deny: "Deny",
    cancel: "Deny and stop",
  };
  const ofPlan: Partial<Record<Decision, string>> = { allow_once: "Go ahead", allow_session: "Go ahead, edit without asking", deny: "Keep planning…" };
  return (subject?.kind === "plan" ? ofPlan[decision] : undefined) ?? words[decision] ?? decision;
}

/** The words around the message that goes with a no. */
export const denialWords = (subject: Subject): { hint: string; send: string } =>
  subject.kind === "plan" ? { hint: "What should the plan do differently?", send: "Keep planning" } : { hint: "What should the agent do instead?", send: "Deny and send" };

export function decidedWord(decision: Decision, subject?: Subject): string {
  const words: Record<Decision, string> = {
    allow_once: "allowed once",
    allow_session: "allowed for this session",
    allow_always: "always allowed",
    deny: "denied",
    cancel: "denied, turn stopped",
  };
  const ofPlan: Partial<Record<Decision, string>> = { allow_once: "plan approved", allow_session: "plan approved, edits without asking", deny: "asked to keep planning" };
  return (subject?.kind === "plan" ? ofPlan[decision] : undefined) ?? words[decision] ?? decision;
}

/** The same on a chip, where the rest is a touch away. */
export function shortDecision(decision: Decision): string {
  const words: Record<Decision, string> = { allow_once: "allowed", allow_session: "allowed for session", allow_always: "always allowed", deny: "denied", cancel: "denied" };
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
      return "Grant extra permissions?";
  }
}

/** The agent's reason, without what is said beside it already: the file that a change names, the risks that have marks. */
export function plainReason(reason: string | null | undefined, subject: Subject, marks: { word: string }[]): string {
  const bare = marks.reduce((words, { word }) => words.replace(` (${word})`, ""), reason?.trim() ?? "");
  const named = subject.kind === "edit" && subject.changes.some((change) => change.path === bare || change.path.endsWith(`/${bare}`));
  return named ? "" : bare;
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
      return lastLine(subject.plan.split("\n").find((line) => line.trim()) ?? "") || "the plan";
    case "permissions":
      return JSON.stringify(subject.permissions);
  }
}

export const fieldText = (field: Field): string => field.text || field.label || field.id;

export function modeWord(mode: Mode): { word: string; means: string } {
  const words: Record<Mode, { word: string; means: string }> = {
    plan: { word: "Plan", means: "reads and plans, changes nothing" },
    ask: { word: "Ask", means: "asks before running commands or editing files" },
    "auto-edit": { word: "Auto-edit", means: "edits files without asking, asks for the rest" },
    full: { word: "Full access", means: "never asks" },
  };
  return words[mode] ?? { word: mode, means: "" };
}

const TURN_ERRORS: Record<TurnErrorCode, string> = {
  usage_limit: "Usage limit reached",
  rate_limited: "Rate limited by the model provider",
  overloaded: "The model provider is overloaded",
  context_window: "Context window is full",
  unauthorized: "The agent is not logged in",
  network: "The agent can't reach its model",
  timeout: "It took too long",
  agent_gone: "The agent exited during the turn",
  agent_unavailable: "The agent could not be started",
  hub_restarted: "Interrupted: the hub restarted",
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

/** A reason of the hub, where it stands alone on the timeline. */
export const noticeWord = (text: string): string => (text === "the hub was restarted" ? "Interrupted: the hub restarted" : text);

/** Why an ask is over without an answer. */
export const withdrawn = (why: string | null | undefined): string => (why ? `Withdrawn: ${why}` : "Withdrawn");

/** Before it has a title, what it was asked first says best what it is about. */
export const sessionTitle = (session: Pick<Session, "title" | "cwd" | "queue">): string => session.title || session.queue?.[0]?.text.split("\n")[0]?.slice(0, 80) || `New in ${shortPath(session.cwd, 1)}`;

export const projectOf = (session: Pick<Session, "project" | "cwd">): string => session.project || shortPath(session.cwd, 1);

/** The machine that a session runs on, where the hub says so. */
export function machineOf(session: Pick<Session, "metadata">): string | undefined {
  const name = session.metadata?.["machine"];
  return typeof name === "string" && name ? name : undefined;
}

/** What a model is called, also before the agent has told its models; what stands in brackets is the agent's business. */
export function modelTitle(model: string | null | undefined, models: ModelInfo[] | undefined): string | undefined {
  if (!model) return undefined;
  const known = models?.find((one) => one.id === model)?.title;
  return known ?? model.replace(/\[[^\]]*\]$/, "").replace(/^gpt-/i, "GPT-");
}

/** What happens to a file, as one letter and one word. */
export const changeWord = { add: ["A", "new"], update: ["M", "changed"], delete: ["D", "deleted"] } as const;
