// Generated from the Rust types by `cargo test -p longshore-model`. Do not edit.

/** What a session does right now. */
export type Activity = ("starting" | "working" | "waiting" | "idle" | "sleeping" | "closed");

/** An agent, as a machine knows it. */
export type AgentInfo = {
  /** What the agent can do. */
  capabilities: Capabilities;
  /** The command that installs the agent. */
  install: string;
  /** Whether somebody is logged in; none if only the running agent could tell. */
  loggedIn?: boolean | null;
  /** The command that logs in to the agent. */
  login?: string | null;
  /** The agent's models, if the hub has asked for them. */
  models?: ModelInfo[];
  /** The agent's name: `codex`. */
  name: string;
  /** The path of the program; none if the agent is not installed. */
  path?: string | null;
  /** A remark for people who want to use the agent. */
  remark?: string | null;
  /** The command that continues a conversation in the agent's own terminal, run in the conversation's folder. `{native}` stands for the agent's name of the conversation. */
  resume?: string | null;
  /** The agent's name for people: `Codex`. */
  title: string;
  /** The result of the last `longshore verify` of all scenarios, with the version that it tested. */
  verified?: (Verified | null);
  /** The version of the agent. */
  version?: string | null;
};

/** What a person does with a question. */
export type AnswerAction = ("accept" | "decline" | "cancel");

/** A decision, as the log keeps it. */
export type ApprovalDecision = {
  /** Who decided. */
  by: string;
  /** The decision. */
  decision: Decision;
  /** Arguments that the agent must use instead of its own. */
  input?: unknown;
  /** The message that the agent gets with the decision. */
  message?: string | null;
};

/** A request that blocks the agent until a person decides it. */
export type ApprovalId = string;

/** A request for permission: what the agent wants to do, and which decisions a client may send. */
export type ApprovalRequest = {
  /** The id of the approval. */
  approval: ApprovalId;
  /** The decisions that this agent can carry out. */
  options: Decision[];
  /** What the agent wants to do. */
  subject: Subject;
};

/** A file or an image of a prompt, or of a tool's result. */
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
  /** The media type: `image/png`. */
  mediaType: string;
  /** The name of the file. */
  name?: string | null;
};

/** What an agent can do. Clients hide everything else. */
export type Capabilities = {
  approvals: boolean;
  attachments: boolean;
  custom: Record<string, unknown>;
  /** Whether a person can choose how hard the agent thinks. */
  effort: boolean;
  filtering: boolean;
  fork: boolean;
  interrupt: boolean;
  listSessions: boolean;
  /** The agent remembers nothing itself. When it starts, it gets its earlier lines from the log. */
  memoryInLog: boolean;
  models: boolean;
  modes: Mode[];
  multiTurn: boolean;
  openSession: boolean;
  /** The agent keeps a record of its conversations, and the hub reads that record: turns in the agent's own terminal enter the log. */
  ownRecord: boolean;
  pagination: boolean;
  sendPrompt: boolean;
  steer: boolean;
  streaming: boolean;
};

/** The ten public categories. */
export type Category = "user_message" | "agent_message" | "reasoning" | "plan" | "tool_command" | "file_diff" | "approval_request" | "user_input_request" | "lifecycle_status" | "metadata";

/** One choice of a field. */
export type Choice = {
  /** What the choice means. */
  description?: string;
  /** The answer that this choice gives. */
  label: string;
};

/** The usage of one day (in UTC) with one agent in one project. */
export type DayUsage = {
  /** The agent. */
  agent: string;
  /** The part of `input` that came from the cache. */
  cached: number;
  /** The cost in dollars, as far as agents report it. */
  cost: number;
  /** The day: `2026-11-15`. */
  day: string;
  /** Tokens that the model read, cached ones included. */
  input: number;
  /** Tokens that the model wrote. */
  output: number;
  /** The name of the work tree's folder. */
  project?: string | null;
  /** The number of turns. */
  turns: number;
};

/** A decision that a person can make. */
export type Decision = ("allow_once" | "allow_session" | "allow_always" | "deny" | "cancel");

/** Work that a session gave to another session. */
export type Delegation = {
  /** The agent of that session. */
  agent: string;
  /** The session that does the work. */
  child: SessionId;
};

/** How delegated work ended. */
export type DelegationEnd = {
  /** The session that did the work. */
  child: SessionId;
  /** The outcome. */
  outcome: TurnOutcome;
};

/** A paired client with its own token. */
export type Device = {
  /** When the device was paired. */
  createdAt: Timestamp;
  /** The device's id, for programs. */
  id: DeviceId;
  /** The device's name, for people. Everything that this device decides shows the name. */
  label: string;
  /** When the device last used the hub, to the minute. */
  lastUsedAt?: (Timestamp | null);
  /** What the device may do. */
  mode: DeviceMode;
  /** When the device was revoked; its token opens nothing since then. */
  revokedAt?: (Timestamp | null);
  /** Whether the device is revoked but the hub could not record that yet. The token opens nothing now, but would work again after a restart of the hub. The hub keeps trying to record it. The log does not keep this field. */
  unsaved?: boolean;
};

/** A paired client with its own token. */
export type DeviceId = string;

/** What a device may do. */
export type DeviceMode = ("full" | "read_only" | "approve");

/** The public JSON of an [`Event`]: the fields of the contract in their order. */
export type Event = (
  | {
  payload: {
    /** The attachments. */
    attachments?: Attachment[];
    /** Who sent the message. */
    by?: string | null;
    /** The prompt. */
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
    /** The agent never finished the message; the text is what there was. */
    partial?: boolean;
    /** Whether the message is an interim comment or the final answer, if the agent says so. */
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
    /** The agent never finished the thought; the text is what there was. */
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
    /** The steps, if the agent keeps a list. */
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
  /** A decision, as the log keeps it. */
  payload: {
    /** The approval. */
    approval: ApprovalId;
    /** Who decided. */
    by: string;
    /** The decision. */
    decision: Decision;
    /** Arguments that the agent must use instead of its own. */
    input?: unknown;
    /** The message that the agent gets with the decision. */
    message?: string | null;
  };
  type: "approval_decided";
}
  | {
  payload: {
    /** The approval. */
    approval: ApprovalId;
  };
  type: "approval_expired";
}
  | {
  payload: QuestionRequest;
  type: "question_asked";
}
  | {
  /** An answer, as the log keeps it. */
  payload: {
    /** Whether the person answered, declined or cancelled. */
    action: AnswerAction;
    /** The answers by field id; a list if the person chose several. */
    answers?: Record<string, unknown>;
    /** Who answered. */
    by: string;
    /** The question. */
    question: QuestionId;
  };
  type: "question_answered";
}
  | {
  payload: {
    /** The question. */
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
    /** The other session. */
    child: SessionId;
    /** Whether the other session waits now. */
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
    /** The prompt that began the turn; none if the agent began by itself. */
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
    /** Whether the agent got what the log holds, instead of reading its own memory. */
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
    /** How important the notice is. */
    level: NoticeLevel;
  };
  type: "notice";
}
  | {
  payload: {
    /** The attachments. */
    attachments?: Attachment[];
    /** Who sent the prompt. */
    by: string;
    /** Whether the prompt goes ahead of the waiting prompts. */
    first?: boolean;
    /** The client's own name for the prompt. Two prompts with the same key are one prompt. */
    key?: string | null;
    /** The id of the prompt. */
    prompt: PromptId;
    /** The turn that the prompt will begin or steer. */
    turnId: TurnId;
  };
  type: "prompt_queued";
}
  | {
  payload: {
    /** The prompt. */
    prompt: PromptId;
  };
  type: "prompt_cancelled";
}
  | {
  payload: {
    /** The prompt. */
    prompt: PromptId;
  };
  type: "prompt_edited";
}
  | {
  payload: {
    /** All waiting prompts, the next one first. */
    order: PromptId[];
  };
  type: "queue_reordered";
}
  | {
  type: "queue_held";
}
  | {
  payload: {
    /** The released prompts. */
    prompts: PromptId[];
  };
  type: "queue_sent";
}
  | {
  type: "title_changed";
}
  | {
  payload: {
    /** The model. */
    model: string;
  };
  type: "model_changed";
}
  | {
  payload: {
    /** The effort, in the agent's words; empty if nobody else can choose it. */
    effort: string;
  };
  type: "effort_changed";
}
  | {
  payload: {
    /** The new mode. */
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
    /** All slash commands. */
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
    /** How much of the record is imported. */
    until: number;
  };
  type: "imported";
}
  | {
  payload: {
    /** Whether the session is archived now. */
    archived: boolean;
  };
  type: "archive_changed";
}
  | {
  payload: {
    /** What is wrong with the frame, if anything. */
    fault?: (RawFault | null);
    /** The agent's name of the frame. */
    kind: string;
  };
  type: "raw";
}) & {
  /** One of ten categories, for clients that know no types. */
  category: Category;
  /** The id of the event. */
  eventId: EventId;
  /** The item. */
  item?: (ItemId | null);
  /** The event that it answers or brings to its end, where that one is known. */
  parentEventId?: (EventId | null);
  /** The agent of the session. */
  provider: string;
  /** The agent's own frame, if the client asked for it. */
  rawEvent?: unknown;
  /** The event's place in the session: dense, from 1. */
  seq: Seq;
  /** The session. */
  sessionId: SessionId;
  /** The text for people. */
  text?: string | null;
  /** When the hub received the event, in RFC 3339. */
  timestamp: Timestamp;
  /** The turn. */
  turn?: (TurnId | null);
};

/** One fact of one session; derived from the session and the seq, see [`EventId::of`]. */
export type EventId = string;

/** The kind of an error outside of a turn. */
export type FaultCode = ("start_failed" | "resume_failed" | "refused" | "timeout" | "bad_configuration");

/** One field of a question. */
export type Field = {
  /** The choices that the agent offers. */
  choices?: Choice[];
  /** The key of the field in the answer. */
  id: string;
  /** Which kind of answer the field takes. */
  kind: FieldKind;
  /** A short label. */
  label: string;
  /** Whether a person may answer something else than the choices. */
  open?: boolean;
  /** Whether a person may leave the field out. */
  optional?: boolean;
  /** Whether clients must hide the answer. */
  secret?: boolean;
  /** The question. */
  text: string;
};

/** Which kind of answer a field takes. */
export type FieldKind = (
  | "text" | "number" | "integer" | "boolean"
  | "one"
  | "many");

/** A change of one file. */
export type FileChange = {
  /** A unified diff. */
  diff: string;
  /** The kind of change. */
  kind: FileChangeKind;
  /** The new path, if the file moves. */
  movedTo?: string | null;
  /** The path of the file. */
  path: string;
};

/** The kind of a file change. */
export type FileChangeKind = "add" | "update" | "delete";

/** A change of one or several files. */
export type FileDiff = {
  /** The changes, one per file. */
  changes: FileChange[];
  /** The status of the change. */
  status: ToolStatus;
};

/** A folder of a machine, for people who look for a work tree. */
export type Folders = {
  /** The names of the subfolders, in order, without hidden folders. */
  folders: string[];
  /** The parent folder; none at the top. */
  parent: string | null;
  /** The path of the folder. */
  path: string;
};

/** The point at which a fork left its origin. */
export type ForkPoint = {
  /** The agent's name of the original conversation, whose memory the agent copies. None if that memory holds more than both sessions share; then the hub tells the agent what they share. */
  native?: string | null;
  /** The last event that both sessions share. */
  seq: Seq;
  /** The session from which the fork was made. */
  session: SessionId;
};

/** The git state of a work tree. */
export type GitState = {
  /** The branch; none if HEAD is detached. */
  branch?: string | null;
  /** The commit. */
  commit?: string | null;
  /** The number of files that differ from the commit. */
  dirty: number;
  /** The address of `origin`. */
  remote?: string | null;
};

/** A thing on the timeline that can grow. */
export type ItemId = string;

/** An MCP server. Its name begins the names of its tools: `files` in `files.read`. */
export type McpServer = (
  | {
  /** The arguments. */
  args?: string[];
  /** The program. */
  command: string;
  /** Additional environment variables of the program. */
  env?: Record<string, string>;
}
  | {
  /** The headers of every request. */
  headers?: Record<string, string>;
  /** The address. */
  url: string;
}) & {
  /** The name: letters, digits, `-` and `_`. */
  name: string;
};

/** Whether a message is an interim comment or the final answer. */
export type MessagePhase = "commentary" | "final_answer";

/** What an agent may do without asking. All agents share these modes; each driver maps them to its agent's own modes. */
export type Mode = ("plan" | "ask" | "auto-edit" | "full");

/** A model that an agent can use. */
export type ModelInfo = {
  /** Whether the agent uses this model if nobody names one. */
  default?: boolean;
  /** What the model is good for. */
  description?: string;
  /** The efforts that a person can choose for this model, in the agent's words, the least first; empty if there is no choice. */
  efforts?: string[];
  /** The id with which a client requests the model. */
  id: string;
  /** The model's name for people. */
  title: string;
};

/** How important a notice is. */
export type NoticeLevel = "info" | "warning" | "error";

/** A waiting approval. */
export type OpenApproval = {
  /** The id of the approval. */
  approval: ApprovalId;
  /** Whether a part of the request is left out, as in a session's row. The session itself and the timeline have the whole request. */
  cut?: boolean;
  /** The item that the approval is about. */
  item?: (ItemId | null);
  /** The decisions that this agent can carry out. */
  options: Decision[];
  /** The agent's reason. */
  reason?: string | null;
  /** When the agent requested the approval. */
  requestedAt: Timestamp;
  /** The event that requested the approval. */
  seq: Seq;
  /** The session. */
  session: SessionId;
  /** What the agent wants to do. */
  subject: Subject;
  /** The turn. */
  turn?: (TurnId | null);
};

/** A waiting question. */
export type OpenQuestion = {
  /** When the agent asked. */
  askedAt: Timestamp;
  /** Whether a part of the question is left out, as in a session's row. The session itself and the timeline have the whole question. */
  cut?: boolean;
  /** The fields that a person fills in. */
  fields: Field[];
  /** The id of the question. */
  question: QuestionId;
  /** The event that asked the question. */
  seq: Seq;
  /** The session. */
  session: SessionId;
  /** Who asks, if it is not the agent itself: the name of an MCP server. */
  source?: string | null;
  /** The question. */
  text?: string | null;
  /** The turn. */
  turn?: (TurnId | null);
};

/** The settings with which a session was opened. */
export type Opened = {
  /** The agent. */
  agent: string;
  /** What the agent can do. */
  capabilities: Capabilities;
  /** The work tree. */
  cwd: string;
  /** How hard the agent thinks, in the agent's words; none leaves the choice to the agent. */
  effort?: string | null;
  /** The session from which this one was forked, and the last seq that both share. */
  forkedFrom?: (ForkPoint | null);
  /** Whether the session was read from a file. Until its agent first starts, the session has only what the file said. */
  fromFile?: boolean;
  /** The MCP servers that the agent gets. */
  mcpServers?: McpServer[];
  /** What the agent may do without asking. */
  mode: Mode;
  /** The requested model; none leaves the choice to the agent. */
  model?: string | null;
  /** The session that delegated to this one. */
  parent?: (SessionId | null);
  /** The requested title; none takes the title from the first prompt. */
  title?: string | null;
};

/** How far a step of a plan is. */
export type PlanStatus = "pending" | "in_progress" | "completed";

/** One step of a plan. */
export type PlanStep = {
  /** How far the step is. */
  status: PlanStatus;
  /** The text of the step. */
  text: string;
};

/** A prompt of a client. */
export type PromptId = string;

/** An answer, as the log keeps it. */
export type QuestionAnswer = {
  /** Whether the person answered, declined or cancelled. */
  action: AnswerAction;
  /** The answers by field id; a list if the person chose several. */
  answers?: Record<string, unknown>;
  /** Who answered. */
  by: string;
};

/** A question of an agent whose answer is data. */
export type QuestionId = string;

/** A question of the agent, whose answer is data. */
export type QuestionRequest = {
  /** The fields that a person fills in. */
  fields: Field[];
  /** The id of the question. */
  question: QuestionId;
  /** Who asks, if it is not the agent itself: the name of an MCP server. */
  source?: string | null;
};

/** A waiting prompt. */
export type QueuedPrompt = {
  /** The attachments. In a session's row they have no content. */
  attachments?: Attachment[];
  /** Who sent the prompt. */
  by: string;
  /** Whether the text is cut, as in a session's row. The session itself has the whole text. */
  cut?: boolean;
  /** Whether the prompt waits until a person releases it. */
  held?: boolean;
  /** The id of the prompt. */
  prompt: PromptId;
  /** The text. */
  text: string;
  /** The turn that the prompt will begin. */
  turn: TurnId;
};

/** Why the driver could not read a frame. */
export type RawFault = ("malformed" | "invalid_utf8" | "truncated");

/** What the agent reported when it became ready for prompts. */
export type Ready = {
  /** The model that the agent uses. */
  model?: string | null;
  /** The agent's name of the conversation, with which it can resume. Some agents name a conversation only at the first prompt, and then report ready a second time. */
  native?: string | null;
  /** The path of the agent's own record. */
  transcript?: string | null;
  /** The agent's version. */
  version?: string | null;
};

/** The place of an event in its session: dense, from 1. Zero is before the first event. */
export type Seq = number;

/** The public JSON of a session. */
export type Session = {
  /** What the session does right now; finer than `status`. */
  activity: Activity;
  /** The waiting approvals. */
  approvals?: OpenApproval[];
  /** Whether the session is archived. */
  archived: boolean;
  /** What the agent can do. */
  capabilities: Capabilities;
  /** The slash commands that the agent offers. */
  commands?: SlashCommand[];
  /** How full the context window is, in percent. */
  contextPercent?: number | null;
  /** The cost of the session, if the agent reports it. */
  costUsd?: number | null;
  /** When the session was opened. */
  createdAt: Timestamp;
  /** Whether a restart of the hub interrupted a turn, and nobody has sent a prompt since. */
  cutByRestart: boolean;
  /** The work tree. */
  cwd: string;
  /** How hard the agent thinks, in the agent's words. */
  effort?: string | null;
  /** The session from which this one was forked. */
  forkedFrom?: (ForkPoint | null);
  /** The git state of the work tree. */
  git?: (GitState | null);
  /** The seq of the last event. */
  head: Seq;
  /** How much of the agent's own record the hub has imported, while the conversation is held elsewhere. */
  imported?: number | null;
  /** The MCP servers that the session gives its agent. */
  mcpServers?: McpServer[];
  /** Further properties, for people. */
  metadata?: Record<string, unknown>;
  /** What the agent may do without asking. */
  mode: Mode;
  /** The model. */
  model?: string | null;
  /** The agent's name of the conversation. */
  native?: string | null;
  /** The session that delegated to this one. */
  parent?: (SessionId | null);
  /** The end of the last message. */
  preview?: string | null;
  /** The name of the work tree's folder. */
  project?: string | null;
  /** The agent's name. */
  provider: string;
  /** The waiting questions. */
  questions?: OpenQuestion[];
  /** The waiting prompts. */
  queue?: QueuedPrompt[];
  /** Whether prompts of the queue are held until a person releases them. */
  queueHeld: boolean;
  /** The agent's own record of the session, if it was imported. */
  rawSession?: unknown;
  /** The address of `origin`. */
  repo?: string | null;
  /** The id of the session. */
  sessionId: SessionId;
  /** The state in one of five words. */
  status: Status;
  /** The title. */
  title: string;
  /** When a person last did something here: opened the session, sent a prompt, decided. Work of the agent does not count, nor turns in the agent's own terminal. */
  touchedAt?: (Timestamp | null);
  /** The running turn. */
  turn?: (TurnId | null);
  /** When a person or the agent last did something. Entries that the hub writes for itself, for example after a restart, do not count. */
  updatedAt: Timestamp;
  /** The tokens that the session has used. */
  usage: Usage;
};

/** An error outside of a turn. */
export type SessionFault = {
  /** The kind of error, for programs. */
  code: FaultCode;
};

/** One conversation with one agent in one work tree. */
export type SessionId = string;

/** A slash command that the agent offers. */
export type SlashCommand = {
  /** What the command does. */
  description?: string;
  /** The name, without the slash. */
  name: string;
};

/** How an agent's process ended. */
export type Sleep = {
  /** The reason, for programs. */
  cause: SleepCause;
  /** The exit code. */
  exitCode?: number | null;
  /** The signal that killed the process. */
  signal?: number | null;
  /** The last lines of stderr. */
  stderr?: string;
};

/** Why a session sleeps. */
export type SleepCause = ("exited" | "failed_to_start" | "stopped" | "hub_restarted" | "log_failed" | "released" | "idle");

/** The state of a session in one of five words. */
export type Status = ("active" | "idle" | "completed" | "error" | "interrupted");

/** What an approval is about. */
export type Subject = (
  | {
  /** The commands that `allow_always` would allow from then on, if they are more than this command. */
  always?: string[];
  /** The command line. */
  command: string;
  /** The folder in which the command runs. */
  cwd?: string | null;
  kind: "command";
}
  | {
  /** The changes, one per file. */
  changes: FileChange[];
  /** The folder that the agent could write to afterwards. */
  grantRoot?: string | null;
  kind: "edit";
}
  | {
  /** The arguments of the call. */
  input: unknown;
  kind: "tool";
  /** The name of the tool: `server.tool` for a tool of an MCP server. */
  name: string;
}
  | {
  kind: "plan";
  /** The plan, in Markdown. */
  plan: string;
}
  | {
  kind: "permissions";
  /** The permissions, in the agent's words. */
  permissions: unknown;
});

/** One thing on the timeline. */
export type TimelineItem = (
  | {
  content: {
    /** The attachments. */
    attachments?: Attachment[];
    /** The author. */
    by?: string | null;
  };
  kind: "user_message";
}
  | {
  content: {
    /** Whether the message is cut off. */
    partial?: boolean;
    /** Whether the message is an interim comment or the final answer. */
    phase?: (MessagePhase | null);
  };
  kind: "message";
}
  | {
  content: {
    /** Whether the thought is cut off. */
    partial?: boolean;
  };
  kind: "reasoning";
}
  | {
  content: {
    /** The steps of the plan. */
    steps: PlanStep[];
  };
  kind: "plan";
}
  | {
  content: {
    /** The call. */
    call: ToolCall;
    /** The file changes of the call. */
    changes?: FileChange[];
    /** How the call ended. */
    outcome?: (ToolOutcome | null);
  };
  kind: "tool";
}
  | {
  content: {
    /** The changes, one per file. */
    changes: FileChange[];
    /** The status of the change. */
    status: ToolStatus;
  };
  kind: "diff";
}
  | {
  kind: "turn_diff";
}
  | {
  content: {
    /** The decision. */
    decision?: (ApprovalDecision | null);
    /** Why nobody can decide any more. */
    expired?: string | null;
    /** The request. */
    request: ApprovalRequest;
  };
  kind: "approval";
}
  | {
  content: {
    /** The answer. */
    answer?: (QuestionAnswer | null);
    /** Why nobody can answer any more. */
    expired?: string | null;
    /** The request. */
    request: QuestionRequest;
  };
  kind: "question";
}
  | {
  content: {
    /** The tool call that delegated the work; none if the agent reports no call. */
    call?: (ToolCall | null);
    /** The session that does the work. */
    delegation: Delegation;
    /** How the work ended. */
    end?: (DelegationEnd | null);
    /** How that call ended. The call can end long before the work does. */
    outcome?: (ToolOutcome | null);
    /** The text of the task. */
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
    /** How important the line is. */
    level: NoticeLevel;
  };
  kind: "notice";
}) & {
  /** When the item ended; none while it grows or waits. */
  endedAt?: (Timestamp | null);
  /** The id of the item, for items that grow. */
  id?: (ItemId | null);
  /** The seq of the event that began the item. */
  seq: Seq;
  /** When the item began. */
  startedAt: Timestamp;
  /** The text that a person reads. */
  text?: string;
  /** The turn of the item. */
  turn?: (TurnId | null);
};

/** Microseconds since 1970; RFC 3339 in JSON. */
export type Timestamp = string;

/** A tool call, as far as the agent has reported it. */
export type ToolCall = {
  /** The command line, if the tool runs one. */
  command?: string | null;
  /** The folder in which the tool runs. */
  cwd?: string | null;
  /** The arguments. */
  input?: unknown;
  /** The kind of tool. */
  kind: ToolKind;
  /** The agent's name of the tool: `exec_command`, `Bash`, `server.tool`. */
  name: string;
};

/** The kind of a tool. */
export type ToolKind = "execute" | "read" | "edit" | "delete" | "move" | "search" | "fetch" | "think" | "delegate" | "other";

/** How a tool call ended. The event's text is the output. */
export type ToolOutcome = {
  /** Images and other content that is not text, at most [`MOST_ATTACHED`] bytes together. */
  attachments?: Attachment[];
  /** How long the call took. */
  durationMs?: number | null;
  /** The exit code, if the tool has one. */
  exitCode?: number | null;
  /** The result as data, if the tool returns data. */
  result?: unknown;
  /** The final status. */
  status: ToolStatus;
};

/** The status of a tool call or of a file change. */
export type ToolStatus = ("running" | "completed" | "failed" | "declined" | "cancelled");

/** How a turn ended. */
export type TurnEnd = {
  /** The cost of this turn, if the agent reports it. */
  costUsd?: number | null;
  /** How long the turn took. */
  durationMs?: number | null;
  /** The error, if the turn failed. */
  error?: (TurnError | null);
  /** The outcome. */
  outcome: TurnOutcome;
  /** The tokens that this turn used. */
  usage?: (Usage | null);
};

/** Why a turn failed. */
export type TurnError = {
  /** The kind of error, for programs. */
  code: TurnErrorCode;
  /** The agent's own data. */
  details?: unknown;
  /** The agent's message. */
  message: string;
};

/** Why a turn failed, for programs. */
export type TurnErrorCode = ("usage_limit" | "rate_limited" | "overloaded" | "context_window" | "unauthorized" | "network" | "timeout" | "agent_gone" | "agent_unavailable" | "hub_restarted" | "other");

/** From a prompt to the agent's rest. */
export type TurnId = string;

/** How a turn can end. */
export type TurnOutcome = "completed" | "failed" | "interrupted";

/** Numbers of tokens. */
export type Usage = {
  /** The part of `input` that came from the cache. */
  cachedInput?: number | null;
  /** How much of the context window is full. */
  contextUsed?: number | null;
  /** The size of the model's context window. */
  contextWindow?: number | null;
  /** Tokens that the model read, cached ones included. */
  input?: number | null;
  /** Tokens that the model wrote, reasoning included. */
  output?: number | null;
  /** The part of `output` that was reasoning. */
  reasoning?: number | null;
};

/** How much of an account's allowance is used. */
export type UsageLimit = {
  /** The name of the allowance, in the agent's words. */
  name: string;
  /** When the allowance starts over, in seconds since 1970. */
  resetsAt?: number | null;
  /** How much is used, in percent. */
  usedPercent: number;
};

/** The result of the last time that an agent played all scenarios. */
export type Verified = {
  /** When the agent played the scenarios. */
  at: Timestamp;
  /** The number of scenarios that were compared with a recording. */
  compared: number;
  /** The scenarios in which the agent behaved differently. */
  differs: string[];
  /** The number of scenarios that the agent played. */
  played: number;
  /** The version that was installed at that time. */
  version: string | null;
};
