// Generated from the Rust types by `cargo test -p longshore-model`. Do not edit.

/** What a session does right now. */
export type Activity = ("starting" | "working" | "waiting" | "idle" | "sleeping" | "closed");

/** One agent as a machine knows it. */
export type AgentInfo = {
  /** What it can do. */
  capabilities: Capabilities;
  /** The command that installs it. */
  install: string;
  /** Whether somebody is logged in, where that can be told without starting it. */
  loggedIn?: boolean | null;
  /** The command that logs in to it. */
  login?: string | null;
  /** Its models, when it was asked for them. */
  models?: ModelInfo[];
  /** Its name: `codex`. */
  name: string;
  /** Where it was found; none when it is not installed. */
  path?: string | null;
  /** Something to know before using it. */
  remark?: string | null;
  /** The command that goes on with a conversation in the agent's own terminal, in the conversation's folder; the agent's name for the conversation stands where it says `{native}`. */
  resume?: string | null;
  /** Its name for people: `Codex`. */
  title: string;
  /** What came of the last time that all scenarios were played with it; of which version, stands there. */
  verified?: (Verified | null);
  /** Its version. */
  version?: string | null;
};

/** What was done with a question. */
export type AnswerAction = ("accept" | "decline" | "cancel");

/** A decision, as it is remembered. */
export type ApprovalDecision = {
  /** Who decided. */
  by: string;
  /** What was decided. */
  decision: Decision;
  /** The arguments that it may use instead of its own. */
  input?: unknown;
  /** What the agent is told with it. */
  message?: string | null;
};

/** A question that blocks the agent until somebody allows or denies. */
export type ApprovalId = string;

/** What the agent wants to do, and what may be answered. */
export type ApprovalRequest = {
  /** Its name. */
  approval: ApprovalId;
  /** The decisions that this agent can carry out. */
  options: Decision[];
  /** What it is about. */
  subject: Subject;
};

/** A file or an image that comes with a prompt, or with the result of a tool. */
export type Attachment = (
  | {
  data: string;
}
  | {
  path: string;
}
  | {
  url: string;
}) & {
  /** Its media type: `image/png`. */
  mediaType: string;
  /** Its name. */
  name?: string | null;
};

/** What an agent can do. Clients hide what is not there. */
export type Capabilities = {
  approvals: boolean;
  attachments: boolean;
  custom: Record<string, unknown>;
  /** It can be told how hard to think. */
  effort: boolean;
  filtering: boolean;
  fork: boolean;
  interrupt: boolean;
  listSessions: boolean;
  /** It remembers nothing itself: what it said before is given back to it from the log when it starts. */
  memoryInLog: boolean;
  models: boolean;
  modes: Mode[];
  multiTurn: boolean;
  openSession: boolean;
  /** It keeps a record of its conversations that is read: what was said in its own terminal comes into the log. */
  ownRecord: boolean;
  pagination: boolean;
  sendPrompt: boolean;
  steer: boolean;
  streaming: boolean;
};

/** The ten public categories. */
export type Category = "user_message" | "agent_message" | "reasoning" | "plan" | "tool_command" | "file_diff" | "approval_request" | "user_input_request" | "lifecycle_status" | "metadata";

/** One thing to choose. */
export type Choice = {
  /** What it means. */
  description?: string;
  /** What is answered. */
  label: string;
};

/** What was used on one day (in UTC) with one agent in one project. */
export type DayUsage = {
  /** Which agent. */
  agent: string;
  /** Of those read, from the cache. */
  cached: number;
  /** What it cost, as far as agents say so. */
  cost: number;
  /** The day: `2026-11-15`. */
  day: string;
  /** Tokens read by the model, cached ones included. */
  input: number;
  /** Tokens written by the model. */
  output: number;
  /** The name of the work tree's folder. */
  project?: string | null;
  /** How many turns. */
  turns: number;
};

/** What a person can answer. */
export type Decision = ("allow_once" | "allow_session" | "allow_always" | "deny" | "cancel");

/** Work handed to another session. */
export type Delegation = {
  /** Its agent. */
  agent: string;
  /** The session that does it. */
  child: SessionId;
};

/** How delegated work ended. */
export type DelegationEnd = {
  /** The session that did it. */
  child: SessionId;
  /** How. */
  outcome: TurnOutcome;
};

/** A client with a token of its own. */
export type Device = {
  /** When it was paired. */
  createdAt: Timestamp;
  /** Its name for programs. */
  id: DeviceId;
  /** Its name for people, who read it wherever this device decided something. */
  label: string;
  /** When it was last here, to the minute. */
  lastUsedAt?: (Timestamp | null);
  /** What it may do. */
  mode: DeviceMode;
  /** Since when its token opens nothing any more. */
  revokedAt?: (Timestamp | null);
  /** Whether it is revoked and that could not be written down yet: its token opens nothing, and would again after a restart of the hub, which goes on trying until then. Never kept. */
  unsaved?: boolean;
};

/** A client with a token of its own. */
export type DeviceId = string;

/** What a device may do. */
export type DeviceMode = ("full" | "read_only" | "approve");

/** The public JSON of an [`Event`]: the fields of the contract in their order. */
export type Event = (
  | {
  payload: {
    /** What came with it. */
    attachments?: Attachment[];
    /** Whose it was. */
    by?: string | null;
    /** The prompt that it was. */
    prompt?: (PromptId | null);
  };
  type: "user_message";
}
  | {
  type: "message_started";
}
  | {
  type: "message_delta";
}
  | {
  payload: {
    /** The agent never finished it; this is what there was. */
    partial?: boolean;
    /** Whether it speaks on the way or concludes, where the agent says so. */
    phase?: (MessagePhase | null);
  };
  type: "message_done";
}
  | {
  type: "reasoning_started";
}
  | {
  type: "reasoning_delta";
}
  | {
  payload: {
    /** The agent never finished it; this is what there was. */
    partial?: boolean;
  };
  type: "reasoning_done";
}
  | {
  type: "plan_started";
}
  | {
  type: "plan_delta";
}
  | {
  payload: {
    /** Its steps, where the agent keeps a list. */
    steps: PlanStep[];
  };
  type: "plan_updated";
}
  | {
  payload: ToolCall;
  type: "tool_started";
}
  | {
  type: "tool_output_delta";
}
  | {
  payload: ToolCall;
  type: "tool_updated";
}
  | {
  payload: ToolOutcome;
  type: "tool_finished";
}
  | {
  payload: FileDiff;
  type: "file_diff";
}
  | {
  type: "turn_diff";
}
  | {
  payload: ApprovalRequest;
  type: "approval_requested";
}
  | {
  /** A decision, as it is remembered. */
  payload: {
    /** Which one. */
    approval: ApprovalId;
    /** Who decided. */
    by: string;
    /** What was decided. */
    decision: Decision;
    /** The arguments that it may use instead of its own. */
    input?: unknown;
    /** What the agent is told with it. */
    message?: string | null;
  };
  type: "approval_decided";
}
  | {
  payload: {
    /** Which one. */
    approval: ApprovalId;
  };
  type: "approval_expired";
}
  | {
  payload: QuestionRequest;
  type: "question_asked";
}
  | {
  /** An answer, as it is remembered. */
  payload: {
    /** Whether the question was answered at all. */
    action: AnswerAction;
    /** By field; a list where several were chosen. */
    answers?: Record<string, unknown>;
    /** Who answered. */
    by: string;
    /** Which one. */
    question: QuestionId;
  };
  type: "question_answered";
}
  | {
  payload: {
    /** Which one. */
    question: QuestionId;
  };
  type: "question_expired";
}
  | {
  payload: Delegation;
  type: "delegation_started";
}
  | {
  payload: {
    /** The session. */
    child: SessionId;
    /** Whether it waits now. */
    waiting: boolean;
  };
  type: "delegation_waiting";
}
  | {
  payload: DelegationEnd;
  type: "delegation_finished";
}
  | {
  payload: {
    /** The prompt that began it; none when the agent began by itself. */
    prompt?: (PromptId | null);
  };
  type: "turn_started";
}
  | {
  payload: TurnEnd;
  type: "turn_finished";
}
  | {
  payload: Opened;
  type: "session_opened";
}
  | {
  payload: Ready;
  type: "session_ready";
}
  | {
  payload: Sleep;
  type: "session_sleeping";
}
  | {
  payload: {
    /** Whether it read its own memory or was told what our log holds. */
    fromLog: boolean;
  };
  type: "session_revived";
}
  | {
  type: "session_handed_off";
}
  | {
  type: "session_closed";
}
  | {
  payload: SessionFault;
  type: "session_error";
}
  | {
  payload: {
    /** How loud. */
    level: NoticeLevel;
  };
  type: "notice";
}
  | {
  payload: {
    /** What comes with it. */
    attachments?: Attachment[];
    /** Whose it is. */
    by: string;
    /** Ahead of those that wait already. */
    first?: boolean;
    /** The client's own name for it: the same key twice is one prompt. */
    key?: string | null;
    /** Its name. */
    prompt: PromptId;
    /** The turn that it will begin, or steer. */
    turnId: TurnId;
  };
  type: "prompt_queued";
}
  | {
  payload: {
    /** Which one. */
    prompt: PromptId;
  };
  type: "prompt_cancelled";
}
  | {
  payload: {
    /** Which one. */
    prompt: PromptId;
  };
  type: "prompt_edited";
}
  | {
  payload: {
    /** All of them, the next one first. */
    order: PromptId[];
  };
  type: "queue_reordered";
}
  | {
  type: "queue_held";
}
  | {
  payload: {
    /** Which ones. */
    prompts: PromptId[];
  };
  type: "queue_sent";
}
  | {
  type: "title_changed";
}
  | {
  payload: {
    /** Its name. */
    model: string;
  };
  type: "model_changed";
}
  | {
  payload: {
    /** How hard, in its own words; empty when nobody else can choose it. */
    effort: string;
  };
  type: "effort_changed";
}
  | {
  payload: {
    /** What it may do now. */
    mode: Mode;
  };
  type: "mode_changed";
}
  | {
  payload: GitState;
  type: "git_changed";
}
  | {
  payload: {
    /** All of them. */
    commands: SlashCommand[];
  };
  type: "commands_listed";
}
  | {
  payload: Usage;
  type: "usage_updated";
}
  | {
  payload: UsageLimit;
  type: "usage_limited";
}
  | {
  payload: {
    /** How much of that record. */
    until: number;
  };
  type: "imported";
}
  | {
  payload: {
    /** Whether it is put away now. */
    archived: boolean;
  };
  type: "archive_changed";
}
  | {
  payload: {
    /** What was wrong with it, if anything was. */
    fault?: (RawFault | null);
    /** What the agent calls it. */
    kind: string;
  };
  type: "raw";
}) & {
  /** One of ten, for clients that know no types. */
  category: Category;
  /** Its name. */
  eventId: EventId;
  /** The item it tells of. */
  item?: (ItemId | null);
  /** The event that it follows from, where that is another than the one before. */
  parentEventId?: (EventId | null);
  /** The agent of that session. */
  provider: string;
  /** The agent's own frame, when asked for. */
  rawEvent?: unknown;
  /** Its place in the session: dense, from 1. */
  seq: Seq;
  /** The session it is a fact of. */
  sessionId: SessionId;
  /** What a person would read of it. */
  text?: string | null;
  /** When the hub learned of it, RFC 3339. */
  timestamp: Timestamp;
  /** The turn it belongs to. */
  turn?: (TurnId | null);
};

/** One fact of one session; derived from the session and the seq, see [`EventId::of`]. */
export type EventId = string;

/** What went wrong, in a word. */
export type FaultCode = ("start_failed" | "resume_failed" | "refused" | "timeout" | "bad_configuration");

/** One thing to fill in. */
export type Field = {
  /** What can be chosen. */
  choices?: Choice[];
  /** The key of its answer. */
  id: string;
  /** What kind of answer fits. */
  kind: FieldKind;
  /** A word or two. */
  label: string;
  /** Whether something else than the choices may be said. */
  open?: boolean;
  /** Whether it may be left out. */
  optional?: boolean;
  /** Whether it must not be shown. */
  secret?: boolean;
  /** The question. */
  text: string;
};

/** What kind of answer fits a field. */
export type FieldKind = (
  | "text" | "number" | "integer" | "boolean"
  | "one"
  | "many");

/** What happens to one file. */
export type FileChange = {
  /** A unified diff. */
  diff: string;
  /** What happens to it. */
  kind: FileChangeKind;
  /** Where it goes, when it moves. */
  movedTo?: string | null;
  /** Which file. */
  path: string;
};

/** What can happen to a file. */
export type FileChangeKind = "add" | "update" | "delete";

/** A change of files. */
export type FileDiff = {
  /** File by file. */
  changes: FileChange[];
  /** Whether it is done. */
  status: ToolStatus;
};

/** A folder of a machine, for whoever looks for a work tree. */
export type Folders = {
  /** The names of those in it, in order. Hidden ones are left out. */
  folders: string[];
  /** The one that it is in; none at the top. */
  parent: string | null;
  /** Which one. */
  path: string;
};

/** Where a fork left its origin. */
export type ForkPoint = {
  /** The agent's name for the origin, which it copies its own memory from. None when that holds more than both have: then the agent is told what they have. */
  native?: string | null;
  /** The last event that both have. */
  seq: Seq;
  /** The origin. */
  session: SessionId;
};

/** Where a work tree stands. */
export type GitState = {
  /** The branch; none when detached. */
  branch?: string | null;
  /** The commit. */
  commit?: string | null;
  /** How many files differ from the commit. */
  dirty: number;
  /** The address of `origin`. */
  remote?: string | null;
};

/** A thing on the timeline that can grow. */
export type ItemId = string;

/** A server of tools, by the name that its tools get: `files` in `files.read`. */
export type McpServer = (
  | {
  /** Its arguments. */
  args?: string[];
  /** The program. */
  command: string;
  /** What its environment has beyond the agent's. */
  env?: Record<string, string>;
}
  | {
  /** What every request has. */
  headers?: Record<string, string>;
  /** Where. */
  url: string;
}) & {
  /** Its name: letters, digits, `-` and `_`. */
  name: string;
};

/** Whether a message speaks on the way or concludes. */
export type MessagePhase = "commentary" | "final_answer";

/** What an agent may do without asking. One set for all agents; each driver maps it to its agent's own. */
export type Mode = ("plan" | "ask" | "auto-edit" | "full");

/** A model that an agent can use. */
export type ModelInfo = {
  /** Whether the agent takes it when nothing is asked for. */
  default?: boolean;
  /** What it is good for. */
  description?: string;
  /** How hard it can be told to think, in the agent's words, the least first; none when that cannot be chosen. */
  efforts?: string[];
  /** What to ask for. */
  id: string;
  /** Its name for people. */
  title: string;
};

/** How loud a notice is. */
export type NoticeLevel = "info" | "warning" | "error";

/** An approval that waits. */
export type OpenApproval = {
  /** Its name. */
  approval: ApprovalId;
  /** Some of it is left out, as in the row of a session: the session itself and the timeline have it whole. */
  cut?: boolean;
  /** The item that it is about. */
  item?: (ItemId | null);
  /** The decisions that this agent can carry out. */
  options: Decision[];
  /** The agent's reason. */
  reason?: string | null;
  /** Since when. */
  requestedAt: Timestamp;
  /** The event that asked. */
  seq: Seq;
  /** The session that waits. */
  session: SessionId;
  /** What it is about. */
  subject: Subject;
  /** The turn that waits. */
  turn?: (TurnId | null);
};

/** A question that waits. */
export type OpenQuestion = {
  /** Since when. */
  askedAt: Timestamp;
  /** Some of it is left out, as in the row of a session: the session itself and the timeline have it whole. */
  cut?: boolean;
  /** The fields to fill in. */
  fields: Field[];
  /** Its name. */
  question: QuestionId;
  /** The event that asked. */
  seq: Seq;
  /** The session that waits. */
  session: SessionId;
  /** What asks, when it is not the agent itself: the name of an MCP server. */
  source?: string | null;
  /** The question. */
  text?: string | null;
  /** The turn that waits. */
  turn?: (TurnId | null);
};

/** How a session came to be. */
export type Opened = {
  /** The agent that it is a conversation with. */
  agent: string;
  /** What this agent can do. */
  capabilities: Capabilities;
  /** The work tree. */
  cwd: string;
  /** How hard the agent shall think, in its own words; none leaves it to the agent. */
  effort?: string | null;
  /** The session that this one was forked from, and its last seq that was taken over. */
  forkedFrom?: (ForkPoint | null);
  /** It was read from a file: what it has until its agent first comes is what the file said, and nobody here remembers it. */
  fromFile?: boolean;
  /** The servers of tools that the agent is given. */
  mcpServers?: McpServer[];
  /** What the agent may do without asking. */
  mode: Mode;
  /** The model asked for; none leaves it to the agent. */
  model?: string | null;
  /** The session that delegated to this one. */
  parent?: (SessionId | null);
  /** The title asked for; none takes it from the first prompt. */
  title?: string | null;
};

/** How far a step is. */
export type PlanStatus = "pending" | "in_progress" | "completed";

/** One step of a plan. */
export type PlanStep = {
  /** How far it is. */
  status: PlanStatus;
  /** What is to be done. */
  text: string;
};

/** A wish that waits in the queue until its turn begins. */
export type PromptId = string;

/** An answer, as it is remembered. */
export type QuestionAnswer = {
  /** Whether the question was answered at all. */
  action: AnswerAction;
  /** By field; a list where several were chosen. */
  answers?: Record<string, unknown>;
  /** Who answered. */
  by: string;
};

/** A question whose answer is data. */
export type QuestionId = string;

/** What the agent wants to know. */
export type QuestionRequest = {
  /** The fields to fill in. */
  fields: Field[];
  /** Its name. */
  question: QuestionId;
  /** What asks, when it is not the agent itself: the name of an MCP server. */
  source?: string | null;
};

/** A prompt that waits for its turn. */
export type QueuedPrompt = {
  /** What comes with them; in the row of a session without its bytes. */
  attachments?: Attachment[];
  /** Whose it is. */
  by: string;
  /** Its words are cut, as in the row of a session: the session itself has them whole. */
  cut?: boolean;
  /** It waits until a person sends it on. */
  held?: boolean;
  /** Its name. */
  prompt: PromptId;
  /** The words. */
  text: string;
  /** The turn that it will begin. */
  turn: TurnId;
};

/** Why a frame could not be read. */
export type RawFault = ("malformed" | "invalid_utf8" | "truncated");

/** What the agent said of itself when it began to listen. */
export type Ready = {
  /** The model that it uses. */
  model?: string | null;
  /** Its name for the conversation, with which it can be resumed. Some give it one only when something is said, and then say once more that they are ready. */
  native?: string | null;
  /** Where the agent keeps its own record. */
  transcript?: string | null;
  /** Its version. */
  version?: string | null;
};

/** The place of an event in its session: dense, from 1. Zero stands before the first event. */
export type Seq = number;

/** The public JSON of a session. */
export type Session = {
  /** More closely than the status: what it does right now. */
  activity: Activity;
  /** The approvals that wait. */
  approvals?: OpenApproval[];
  /** Put away. */
  archived: boolean;
  /** What the agent can do. */
  capabilities: Capabilities;
  /** The slash commands that the agent knows. */
  commands?: SlashCommand[];
  /** How full the context is. */
  contextPercent?: number | null;
  /** What it has cost, where the agent says so. */
  costUsd?: number | null;
  /** When it was opened. */
  createdAt: Timestamp;
  /** Whether a restart of the hub cut a turn, and nobody has said anything since. */
  cutByRestart: boolean;
  /** The work tree. */
  cwd: string;
  /** How hard the agent thinks, in its own words. */
  effort?: string | null;
  /** The session that it was forked from. */
  forkedFrom?: (ForkPoint | null);
  /** Where the work tree stands. */
  git?: (GitState | null);
  /** The last event. */
  head: Seq;
  /** How much of the agent's own record was taken in, as long as the conversation is held elsewhere. */
  imported?: number | null;
  /** The servers of tools that the agent was given with it. */
  mcpServers?: McpServer[];
  /** What else there is to know of it, for people. */
  metadata?: Record<string, unknown>;
  /** What the agent may do without asking. */
  mode: Mode;
  /** The model. */
  model?: string | null;
  /** The agent's name for the conversation. */
  native?: string | null;
  /** The session that delegated to this one. */
  parent?: (SessionId | null);
  /** The end of what was last said. */
  preview?: string | null;
  /** The name of the work tree's folder. */
  project?: string | null;
  /** The agent. */
  provider: string;
  /** The questions that wait. */
  questions?: OpenQuestion[];
  /** The prompts that wait. */
  queue?: QueuedPrompt[];
  /** Whether prompts of the queue are held until a person sends them on. */
  queueHeld: boolean;
  /** The agent's own record of it, where it was imported. */
  rawSession?: unknown;
  /** The address of `origin`. */
  repo?: string | null;
  /** Its name. */
  sessionId: SessionId;
  /** In one of five words. */
  status: Status;
  /** What it is about. */
  title: string;
  /** When a person last did something here: opened it, said something, decided. What an agent did is no part of it, nor what was said in the agent's own terminal. */
  touchedAt?: (Timestamp | null);
  /** The turn that runs. */
  turn?: (TurnId | null);
  /** When a person or the agent last did something; not what the hub noted for itself, as after a restart. */
  updatedAt: Timestamp;
  /** What it has used. */
  usage: Usage;
};

/** Something that went wrong outside of a turn. */
export type SessionFault = {
  /** A stable word. */
  code: FaultCode;
};

/** One conversation with one agent in one work tree. */
export type SessionId = string;

/** A slash command that an agent knows. */
export type SlashCommand = {
  /** What it does. */
  description?: string;
  /** Without the slash. */
  name: string;
};

/** How an agent's process ended. */
export type Sleep = {
  /** Why, for programs. */
  cause: SleepCause;
  /** Its exit code. */
  exitCode?: number | null;
  /** The signal that killed it. */
  signal?: number | null;
  /** The last lines that it wrote to stderr. */
  stderr?: string;
};

/** Why a session sleeps. */
export type SleepCause = ("exited" | "failed_to_start" | "stopped" | "hub_restarted" | "log_failed" | "released" | "idle");

/** A session in one of five words. */
export type Status = ("active" | "idle" | "completed" | "error" | "interrupted");

/** What an approval is about. */
export type Subject = (
  | {
  /** What `allow_always` would allow from then on, when that is more than this command. */
  always?: string[];
  /** The command line. */
  command: string;
  /** Where. */
  cwd?: string | null;
  kind: "command";
}
  | {
  /** File by file. */
  changes: FileChange[];
  /** The folder that would become writable. */
  grantRoot?: string | null;
  kind: "edit";
}
  | {
  /** With what. */
  input: unknown;
  kind: "tool";
  /** Which one: `server.tool` for a tool of an MCP server. */
  name: string;
}
  | {
  kind: "plan";
  /** The plan, in Markdown. */
  plan: string;
}
  | {
  kind: "permissions";
  /** What, in the agent's words. */
  permissions: unknown;
});

/** One thing on the timeline. */
export type TimelineItem = (
  | {
  content: {
    /** What came with it. */
    attachments?: Attachment[];
    /** Who it was. */
    by?: string | null;
  };
  kind: "user_message";
}
  | {
  content: {
    /** It was cut off. */
    partial?: boolean;
    /** On the way, or in conclusion. */
    phase?: (MessagePhase | null);
  };
  kind: "message";
}
  | {
  content: {
    /** It was cut off. */
    partial?: boolean;
  };
  kind: "reasoning";
}
  | {
  content: {
    /** Step by step. */
    steps: PlanStep[];
  };
  kind: "plan";
}
  | {
  content: {
    /** With what. */
    call: ToolCall;
    /** What it changed. */
    changes?: FileChange[];
    /** How it ended. */
    outcome?: (ToolOutcome | null);
  };
  kind: "tool";
}
  | {
  content: {
    /** File by file. */
    changes: FileChange[];
    /** Whether it is done. */
    status: ToolStatus;
  };
  kind: "diff";
}
  | {
  kind: "turn_diff";
}
  | {
  content: {
    /** How it was decided. */
    decision?: (ApprovalDecision | null);
    /** Why it no longer can be. */
    expired?: string | null;
    /** What. */
    request: ApprovalRequest;
  };
  kind: "approval";
}
  | {
  content: {
    /** What it was told. */
    answer?: (QuestionAnswer | null);
    /** Why it no longer can be. */
    expired?: string | null;
    /** What. */
    request: QuestionRequest;
  };
  kind: "question";
}
  | {
  content: {
    /** The call by which the agent handed it on; none where the agent tells of none. */
    call?: (ToolCall | null);
    /** To which. */
    delegation: Delegation;
    /** How it ended. */
    end?: (DelegationEnd | null);
    /** How that call ended. It may end long before the work does. */
    outcome?: (ToolOutcome | null);
    /** What it shall do. */
    task?: string;
  };
  kind: "delegation";
}
  | {
  content: TurnEnd;
  kind: "turn_end";
}
  | {
  content: {
    /** How loud. */
    level: NoticeLevel;
  };
  kind: "notice";
}) & {
  /** When it ended; none while it grows or waits. */
  endedAt?: (Timestamp | null);
  /** Its item id, for things that grow. */
  id?: (ItemId | null);
  /** Where it began. */
  seq: Seq;
  /** When it began. */
  startedAt: Timestamp;
  /** What a person reads of it. */
  text?: string;
  /** The turn that it belongs to. */
  turn?: (TurnId | null);
};

/** Microseconds since 1970; RFC 3339 in JSON. */
export type Timestamp = string;

/** A call of a tool, as far as it is known. */
export type ToolCall = {
  /** The command line, for tools that run one. */
  command?: string | null;
  /** Where it runs. */
  cwd?: string | null;
  /** Its arguments. */
  input?: unknown;
  /** What sort of thing it does. */
  kind: ToolKind;
  /** What the agent calls the tool: `exec_command`, `Bash`, `server.tool`. */
  name: string;
};

/** What sort of thing a tool does. */
export type ToolKind = "execute" | "read" | "edit" | "delete" | "move" | "search" | "fetch" | "think" | "delegate" | "other";

/** How a call ended. The output itself is the event's text. */
export type ToolOutcome = {
  /** Pictures and other content that is no text, [`MOST_ATTACHED`] bytes together at most. */
  attachments?: Attachment[];
  /** How long it took. */
  durationMs?: number | null;
  /** The exit code, for tools that have one. */
  exitCode?: number | null;
  /** The result as data, where the tool gives data. */
  result?: unknown;
  /** How it ended. */
  status: ToolStatus;
};

/** Where a tool call or a file change stands. */
export type ToolStatus = ("running" | "completed" | "failed" | "declined" | "cancelled");

/** How a turn ended. */
export type TurnEnd = {
  /** What this turn cost, where the agent says so. */
  costUsd?: number | null;
  /** How long it took. */
  durationMs?: number | null;
  /** What went wrong. */
  error?: (TurnError | null);
  /** How. */
  outcome: TurnOutcome;
  /** What this turn used. */
  usage?: (Usage | null);
};

/** Why a turn failed. */
export type TurnError = {
  /** A stable word. */
  code: TurnErrorCode;
  /** The agent's own data. */
  details?: unknown;
  /** What the agent said. */
  message: string;
};

/** Why a turn failed, in a word. */
export type TurnErrorCode = ("usage_limit" | "rate_limited" | "overloaded" | "context_window" | "unauthorized" | "network" | "timeout" | "agent_gone" | "agent_unavailable" | "hub_restarted" | "other");

/** From a prompt to the agent's rest. */
export type TurnId = string;

/** How a turn can end. */
export type TurnOutcome = "completed" | "failed" | "interrupted";

/** Tokens. */
export type Usage = {
  /** Of these, from the cache. */
  cachedInput?: number | null;
  /** How much of that is taken now. */
  contextUsed?: number | null;
  /** How much the model can hold at once. */
  contextWindow?: number | null;
  /** Read by the model, cached ones included. */
  input?: number | null;
  /** Written by the model, reasoning included. */
  output?: number | null;
  /** Of these, thought and not said. */
  reasoning?: number | null;
};

/** How much of an account's allowance is gone. */
export type UsageLimit = {
  /** What the allowance is for, in the agent's words. */
  name: string;
  /** When it starts over, in seconds since 1970. */
  resetsAt?: number | null;
  /** How much is gone, in percent. */
  usedPercent: number;
};

/** What came of the last time that all scenarios were played with an agent. */
export type Verified = {
  /** When. */
  at: Timestamp;
  /** How many of them were compared with a recording. */
  compared: number;
  /** The scenarios in which it did otherwise. */
  differs: string[];
  /** How many scenarios were played. */
  played: number;
  /** The version that was installed then. */
  version: string | null;
};
