// The words for every value that the hub tells: one table per type of the contract. A value without words does not
// compile, and a type of the contract that is in none of these fails a test (tests/unit/words.test.ts).
import type {
  Activity,
  AnswerAction,
  Decision,
  DeviceMode,
  FileChangeKind,
  Mode,
  PlanStatus,
  Status,
  ToolStatus,
  TurnErrorCode,
  TurnOutcome,
  When,
} from "./contract.ts";

/** What a session does. The last two say less than how its last turn ended. */
export const ACTIVITY: Record<Activity, string> = {
  starting: "starting",
  working: "working",
  waiting: "needs you",
  closed: "ended",
  idle: "idle",
  sleeping: "sleeping",
};

/** How the last turn of a session that rests has ended. */
export const STATUS: Record<Status, string> = {
  active: "working",
  idle: "idle",
  completed: "idle",
  error: "failed",
  interrupted: "interrupted",
};

export const TOOL_STATUS: Record<ToolStatus, string> = {
  running: "running",
  completed: "done",
  failed: "failed",
  declined: "declined",
  cancelled: "stopped",
};

/** What a button says, what is said afterwards, and the same on a chip. */
export const DECISION: Record<Decision, { button: string; decided: string; chip: string }> = {
  allow_once: { button: "Allow once", decided: "allowed once", chip: "allowed" },
  allow_session: { button: "Allow for this session", decided: "allowed for this session", chip: "allowed for session" },
  allow_always: { button: "Always allow", decided: "always allowed", chip: "always allowed" },
  deny: { button: "Deny", decided: "denied", chip: "denied" },
  cancel: { button: "Deny and stop", decided: "denied, turn stopped", chip: "denied" },
};

/** A plan is gone ahead with, not allowed. */
export const PLAN_DECISION: Partial<Record<Decision, { button: string; decided: string }>> = {
  allow_once: { button: "Go ahead", decided: "plan approved" },
  allow_session: { button: "Go ahead, edit without asking", decided: "plan approved, edits without asking" },
  deny: { button: "Keep planning…", decided: "asked to keep planning" },
};

export const ANSWER_ACTION: Record<AnswerAction, string> = {
  accept: "answered",
  decline: "not answered",
  cancel: "not answered",
};

export const MODE: Record<Mode, { word: string; means: string }> = {
  plan: { word: "Plan", means: "reads and plans, changes nothing" },
  ask: { word: "Ask", means: "asks before running commands or editing files" },
  "auto-edit": { word: "Auto-edit", means: "edits files without asking, asks for the rest" },
  full: { word: "Full access", means: "never asks" },
};

export const DEVICE_MODE: Record<DeviceMode, { word: string; means: string }> = {
  full: { word: "Full access", means: "it can do everything you can" },
  approve: { word: "Watch and approve", means: "it can answer approvals, and nothing else" },
  read_only: { word: "Watch only", means: "it can change nothing" },
};

export const TURN_ERROR: Record<TurnErrorCode, string> = {
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

export const TURN_OUTCOME: Record<TurnOutcome, string> = {
  completed: "Done",
  failed: "Failed",
  interrupted: "Interrupted",
};

export const PLAN_STATUS: Record<PlanStatus, string> = {
  pending: "to do",
  in_progress: "in progress",
  completed: "done",
};

/** What happens to a file, as one letter and one word. */
export const FILE_CHANGE: Record<FileChangeKind, readonly [letter: string, word: string]> = {
  add: ["A", "new"],
  update: ["M", "changed"],
  delete: ["D", "deleted"],
};

/** What becomes of words that are said while a turn runs. */
export const WHEN: Record<When, string> = { queue: "Queue", steer: "Steer", interrupt: "Interrupt" };

/** How hard a model thinks. Agents name these as they like; the usual names have words. */
const EFFORT: Record<string, string> = {
  none: "Off",
  minimal: "Minimal",
  low: "Low",
  medium: "Medium",
  high: "High",
  xhigh: "Extra high",
  max: "Max",
};
export const effortWord = (effort: string): string => EFFORT[effort] ?? titled(effort);

/** A name of the wire as people write it: `read_only`, `auto-edit`, `WebFetch`. */
export const plainName = (name: string): string =>
  /\s/.test(name)
    ? name
    : name
        .replace(/([a-z\d])([A-Z])/g, "$1 $2")
        .replace(/[_-]+/g, " ")
        .trim()
        .toLowerCase();

/** The same at the beginning of a line. */
export const titled = (name: string): string => plainName(name).replace(/^./u, (letter) => letter.toUpperCase());

/** A tool by its name; one of an MCP server says whose it is. */
export function toolName(name: string): string {
  const mcp = /^mcp__(.+?)__(.+)$/s.exec(name);
  return mcp ? `${plainName(mcp[2] as string)} of ${mcp[1]}` : plainName(name);
}

/** All tables, by the type of the contract whose values they have. */
export const TABLES: Record<string, Record<string, unknown>> = {
  Activity: ACTIVITY,
  AnswerAction: ANSWER_ACTION,
  Decision: DECISION,
  DeviceMode: DEVICE_MODE,
  FileChangeKind: FILE_CHANGE,
  Mode: MODE,
  PlanStatus: PLAN_STATUS,
  Status: STATUS,
  ToolStatus: TOOL_STATUS,
  TurnErrorCode: TURN_ERROR,
  TurnOutcome: TURN_OUTCOME,
};
