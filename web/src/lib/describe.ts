// What things are called on screen. The only place that turns the hub's words into
// sentences; single values have theirs in words.ts.
import type {
  Activity,
  AgentInfo,
  Decision,
  Field,
  FileChange,
  Mode,
  ModelInfo,
  Session,
  Subject,
  ToolCall,
  ToolOutcome,
  TurnEnd,
} from "./contract.ts";
import { permissionWords } from "./permissions.ts";
import { toolWords, type ToolWords } from "./tools.ts";
import { agoWords, cost, count, duration, lastLine, plural, shortPath, within } from "./format.ts";
import {
  ACTIVITY,
  DECISION,
  MODE,
  PLAN_DECISION,
  plainName,
  STATUS,
  titled,
  TOOL_STATUS,
  toolName,
  TURN_ERROR,
  TURN_OUTCOME,
} from "./words.ts";

/** How a session stands, in one word and one tone. */
export type Standing = { word: string; tone: "live" | "wait" | "calm" | "rest" | "bad" };

export function standing(session: Pick<Session, "activity" | "status" | "cutByRestart">): Standing {
  const byActivity: Record<Activity, Standing["tone"] | undefined> = {
    starting: "live",
    working: "live",
    waiting: "wait",
    closed: "rest",
    idle: undefined,
    sleeping: undefined,
  };
  const tone = byActivity[session.activity];
  if (tone) return { word: ACTIVITY[session.activity], tone };
  if (session.status === "error") return { word: STATUS.error, tone: "bad" };
  // How its last turn ended says more than whether its agent is still there.
  if (session.cutByRestart || session.status === "interrupted")
    return { word: STATUS.interrupted, tone: session.cutByRestart ? "wait" : "rest" };
  if (session.activity === "sleeping") return { word: ACTIVITY.sleeping, tone: "rest" };
  return { word: ACTIVITY.idle, tone: "calm" };
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
export function toolLine(call: ToolCall, changes: FileChange[], over: boolean, cwd: string): ToolWords {
  const words = toolWords(call.command ? { ...call, command: bareCommand(call.command) } : call, over);
  if (changes.length > 1)
    return { ...words, verb: verbAlone(words.verb), about: plural(changes.length, "file"), code: false };
  if (changes[0]) return { ...words, verb: verbAlone(words.verb), about: within(changes[0].path, cwd), code: true };
  return words.code ? { ...words, about: within(words.about, cwd) } : words;
}

/** Where it stands before names of files, `Edited files` says it twice. */
const verbAlone = (verb: string): string => verb.replace(/ (a file|files)$/, "");

/** How a call ended that did not end well: its code says more than that it failed. */
export const exitWord = (outcome: ToolOutcome): string =>
  outcome.status === "failed" && outcome.exitCode ? `exit ${outcome.exitCode}` : TOOL_STATUS[outcome.status];

/** What a button says. */
export const decisionWord = (decision: Decision, subject?: Subject): string =>
  ((subject?.kind === "plan" && PLAN_DECISION[decision]) || DECISION[decision])?.button ?? titled(decision);

/** The words around the message that goes with a no. */
export const denialWords = (subject: Subject): { hint: string; send: string } =>
  subject.kind === "plan"
    ? { hint: "What should the plan do differently?", send: "Keep planning" }
    : { hint: "What should the agent do instead?", send: "Deny and send" };

export const decidedWord = (decision: Decision, subject?: Subject): string =>
  ((subject?.kind === "plan" && PLAN_DECISION[decision]) || DECISION[decision])?.decided ?? plainName(decision);

/** The same on a chip, where the rest is a touch away. */
export const shortDecision = (decision: Decision): string => DECISION[decision]?.chip ?? plainName(decision);

export const allows = (decision: Decision): boolean => decision.startsWith("allow");

/** The question that an approval puts. */
export function approvalTitle(subject: Subject): string {
  switch (subject.kind) {
    case "command":
      return "Run this command?";
    case "edit":
      return subject.changes.length > 1 ? `Change ${subject.changes.length} files?` : "Change this file?";
    case "tool":
      return `Use ${toolName(subject.name)}?`;
    case "plan":
      return "Go ahead with this plan?";
    case "permissions":
      return "Grant extra permissions?";
  }
}

/** What is asked about says these already. */
const SAID_ALREADY = new Set(["It changes files.", "It runs a command that may change something."]);

/**
 * The agent's reason, without what is said beside it already: the file that a change names, the risks that have marks.
 */
export function plainReason(reason: string | null | undefined, subject: Subject, marks: { word: string }[]): string {
  const bare = marks.reduce((words, { word }) => words.replace(` (${word})`, ""), reason?.trim() ?? "");
  const named =
    subject.kind === "edit" &&
    subject.changes.some((change) => change.path === bare || change.path.endsWith(`/${bare}`));
  return named || SAID_ALREADY.has(bare) ? "" : bare;
}

/** One line of what would happen. */
export function approvalLine(subject: Subject, cwd: string): string {
  switch (subject.kind) {
    case "command":
      return bareCommand(subject.command);
    case "edit":
      return subject.changes.map((change) => within(change.path, cwd)).join(", ") || "the changes above";
    case "tool":
      return (
        toolLine({ name: subject.name, kind: "other", input: subject.input }, [], false, cwd).about ||
        toolName(subject.name)
      );
    case "plan":
      return lastLine(subject.plan.split("\n").find((line) => line.trim()) ?? "") || "the plan";
    case "permissions":
      return permissionLine(subject.permissions);
  }
}

/** What would be let, in one line. */
function permissionLine(permissions: unknown): string {
  const { lines, rest } = permissionWords(permissions);
  return [...lines, ...(rest === undefined ? [] : [JSON.stringify(rest)])].join(", ");
}

export const fieldText = (field: Field): string => field.text || field.label || field.id;

/** What a hub newer than this page tells is called by its name. */
export const modeWord = (mode: Mode): { word: string; means: string } =>
  MODE[mode] ?? { word: titled(mode), means: "" };

export function turnError(end: TurnEnd): { title: string; message: string } | undefined {
  if (!end.error) return undefined;
  return {
    title: TURN_ERROR[end.error.code] ?? TURN_ERROR.other,
    message: end.error.code === "hub_restarted" ? "" : end.error.message,
  };
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

export const turnWord = (end: TurnEnd): string => TURN_OUTCOME[end.outcome];

/** Why prompts that wait are held; where another turn came after that one, it is no longer news. */
export const heldBecause = (session: Pick<Session, "status">): string =>
  ({ error: "The turn failed.", interrupted: "Interrupted.", active: "", idle: "", completed: "" })[session.status];

/** What the hub says of an agent that went with it. */
export const HUB_RESTARTED = "the hub was restarted";

/** What `longshore verify` found of an agent: how much of it was as recorded, and what was not, by name. */
export function verifiedWords(
  agent: Pick<AgentInfo, "version" | "verified">,
  now: number,
): { good: boolean; text: string } | undefined {
  const { verified } = agent;
  if (!verified) return undefined;
  const when = agoWords(verified.at, now);
  if (verified.version !== agent.version) {
    const [then, current] = [verified.version ?? "another version", agent.version ?? "this one"];
    return { good: false, text: `Verified with ${then} ${when}, not yet with ${current}` };
  }
  const { played, compared, differs } = verified;
  const scenarios = plural(played, "scenario");
  if (differs.length) {
    const alike = `${played - differs.length} of ${scenarios} as ${compared === played ? "recorded" : "expected"}`;
    return { good: false, text: `Verified ${when}: ${alike}. Different: ${differs.join(", ")}` };
  }
  const recorded = compared === played ? "as recorded" : `work, ${compared} of them compared with a recording`;
  return { good: true, text: `Verified ${when}: all ${scenarios} ${recorded}` };
}

/** A reason of the hub, where it stands alone on the timeline: no turn was interrupted then. */
export const noticeWord = (text: string): string =>
  text === HUB_RESTARTED ? "The hub restarted. The agent resumes with the next prompt." : text;

/** Why an ask is over without an answer. */
export const withdrawn = (why: string | null | undefined): string => (why ? `Withdrawn: ${why}` : "Withdrawn");

/** Before it has a title, what it was asked first says best what it is about. */
export const sessionTitle = (session: Pick<Session, "title" | "cwd" | "queue">): string =>
  session.title || session.queue?.[0]?.text.split("\n")[0]?.slice(0, 80) || `New in ${shortPath(session.cwd, 1)}`;

export const projectOf = (session: Pick<Session, "project" | "cwd">): string =>
  session.project || shortPath(session.cwd, 1);

/** The machine that a session runs on, where the hub says so. */
export function machineOf(session: Pick<Session, "metadata">): string | undefined {
  const name = session.metadata?.["machine"];
  return typeof name === "string" && name ? name : undefined;
}

/**
 * What a model is called, also before the agent has told its models; what stands in brackets is the agent's business.
 */
export function modelTitle(model: string | null | undefined, models: ModelInfo[] | undefined): string | undefined {
  if (!model) return undefined;
  const known = models?.find((one) => one.id === model)?.title;
  return known ?? model.replace(/\[[^\]]*\]$/, "").replace(/^gpt-/i, "GPT-");
}
