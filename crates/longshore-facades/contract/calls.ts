// Generated from the table of calls by `cargo test -p longshore-facades`. Do not edit.
import type {
  AgentInfo,
  AnswerAction,
  ApprovalDecision,
  ApprovalId,
  Attachment,
  DayUsage,
  Decision,
  Device,
  DeviceId,
  DeviceMode,
  Event,
  ItemId,
  McpServer,
  Mode,
  ModelInfo,
  OpenApproval,
  OpenQuestion,
  PromptId,
  QuestionAnswer,
  QuestionId,
  Seq,
  Session,
  SessionId,
  Status,
  TimelineItem,
  Timestamp,
  TurnId,
} from "../../longshore-model/contract/longshore.ts";

/** Agents, installed or not. */
export type Agents = {
  /** The agents. */
  agents: AgentInfo[];
};

/** An answer to a question. */
export type AnswerParams = {
  /** Whether the person answers, declines or cancels. */
  action?: AnswerAction;
  /** The answers, by field. */
  answers?: Record<string, unknown>;
  /** The question. */
  question: QuestionId;
};

/** An answered question. */
export type AnsweredQuestion = {
  /** The answer. */
  answer: QuestionAnswer;
  /** The id of the question. */
  question: QuestionId;
};

/** Whose token a caller uses. */
export type CallerRole = ("owner" | "device");

/** A waiting prompt. */
export type CancelPromptParams = {
  /** The prompt. */
  prompt: PromptId;
  /** The session of the prompt. */
  session: SessionId;
};

/** A decision on an approval. */
export type DecideParams = {
  /** The approval. */
  approval: ApprovalId;
  /** The decision. */
  decision: Decision;
  /** The arguments that the tool gets instead of the agent's own arguments. */
  input?: unknown;
  /** A message to the agent. */
  message?: string | null;
};

/** A decided approval. */
export type DecidedApproval = {
  /** The id of the approval. */
  approval: ApprovalId;
  /** The decision. */
  decision: ApprovalDecision;
};

/** A session that is deleted. */
export type DeletedSession = {
  /** The id of the session. */
  deleted: SessionId;
};

/** A device. */
export type DeviceParams = {
  /** The device. */
  device: DeviceId;
};

/** Devices, also revoked devices. */
export type Devices = {
  /** The devices. */
  devices: Device[];
};

/** The new text of a waiting prompt. */
export type EditPromptParams = {
  /** The prompt. */
  prompt: PromptId;
  /** The session. */
  session: SessionId;
  /** The new text. */
  text: string;
};

/** Some events of a session. */
export type EventPage = {
  /** The events, in order. Their JSON is the stored JSON. */
  events: Event[];
  /** The seq of the newest event of the session. */
  head: Seq;
  /** The `after` of the next page; null on the last page. */
  next: (Seq | null);
};

/** Which events to return. */
export type EventsParams = {
  /** Only events after this seq. Default: all events. */
  after?: Seq;
  /** The most events of the page. Default: 200; maximum: 1000. */
  limit?: number | null;
  /** Whether to return the agents' own frames in `rawEvent`. */
  raw?: boolean;
  /** The session. */
  session: SessionId;
};

/** A folder for people who look for a work tree. */
export type FolderPage = {
  /** The names of the subfolders, in order. */
  folders: string[];
  /** The parent folder; null at the top. */
  parent: string | null;
  /** The folder. */
  path: string;
  /** The folders of recent sessions. */
  recent: string[];
};

/** A folder to list. */
export type FoldersParams = {
  /** An absolute path on the machine that runs the agents. Default: the machine's home folder. */
  path?: string | null;
};

/** A copy of a session. */
export type ForkParams = {
  /** The seq of a prompt: the copy has only what came before the turn of that prompt. Default: the copy has everything. */
  before?: (Seq | null);
  /** The session to copy. */
  session: SessionId;
};

/** How a session continues in the agent's own terminal. */
export type HandBack = {
  /** The command to run. */
  command: string;
  /** The folder in which to run the command. */
  cwd: string;
  /** Folder and command as one shell line. */
  line: string;
};

/** A hit of a search. */
export type Hit = {
  /** When the event happened. */
  at: Timestamp;
  /** The item on the timeline. */
  item: (ItemId | null);
  /** The seq of the event. */
  seq: Seq;
  /** The session of the hit. */
  session: SessionId;
  /** A piece of the event's text, with the matches marked. */
  snippet: string;
  /** The title of the session. */
  title: string;
};

/** The hits of a search. */
export type Hits = {
  /** The hits, the best hit first. */
  hits: Hit[];
};

/** Events of an exported session, in order. Several calls may import one session part by part. */
export type ImportParams = {
  /** The work tree in which the session continues here. Default: the folder in the file, if sessions of this hub have been there. */
  cwd?: string | null;
  /** Whether this is the last part. */
  done?: boolean;
  /** The events as an export has them, with the agent's own frames in `rawEvent`. */
  events: Event[];
};

/** Everything that waits for a person. */
export type Inbox = {
  /** Approvals, oldest first. */
  approvals: OpenApproval[];
  /** Other sessions that hold prompts. */
  held: Session[];
  /** Sessions in which a restart of the hub interrupted a turn. */
  interrupted: Session[];
  /** Questions, oldest first. */
  questions: OpenQuestion[];
};

/** What to return about agents. */
export type ListAgentsParams = {
  /** Which models to return. Default: `asked`. */
  models?: WhichModels;
};

/** The models of an agent. */
export type ListModelsParams = {
  /** The name of the agent. */
  agent: string;
  /** Whether the agent must start a new process, even if its models are known. */
  anew?: boolean;
};

/** Which sessions to list. */
export type ListParams = {
  /** Only sessions of this agent. */
  agent?: string | null;
  /** `true`: only archived and closed sessions. `false`: only the other sessions. Default: `false`. */
  archived?: boolean | null;
  /** Where the page begins: `next` of the previous page. */
  cursor?: string | null;
  /** The most sessions of the page. Default: 50; maximum: 200. */
  limit?: number | null;
  /** Only sessions with this text in their title, preview or folder. */
  q?: string | null;
  /** Only sessions with this status. */
  status?: (Status | null);
};

/** A machine that runs agents. */
export type Machine = {
  /** The agents that the machine knows, installed or not. */
  agents: AgentInfo[];
  /** The name of the machine. */
  name: string;
};

/** The machines that run agents. */
export type Machines = {
  /** The machines. */
  machines: Machine[];
};

/** The caller, and what the caller may do. */
export type Me = {
  /** The device; absent for the owner. */
  device?: (Device | null);
  /** What the caller may do, as a mode of devices. */
  mode: DeviceMode;
  /** Whose token the caller uses. */
  role: CallerRole;
};

/** A code with which one phone with mobile-agent pairs. Its first three fields are the JSON of the QR code. */
export type MobilePairing = {
  /** When the code expires. */
  expiresAt: Timestamp;
  /** What the phone may do. */
  mode: DeviceMode;
  /** The code. */
  pairingToken: string;
  /** The hub's public key: Ed25519, in hex. */
  serverPublicKey: string;
  /** The address of the hub. */
  url: string;
};

/** The models of an agent. */
export type Models = {
  /** The models. */
  models: ModelInfo[];
};

/** No parameters. */
export type NoParams = Record<string, never>;

/** The call succeeded and has nothing to report. */
export type Nothing = Record<string, never>;

/** A session to open. */
export type OpenParams = {
  /** The agent: a name from `/api/v1/agents`. */
  agent: string;
  /** The work tree: an absolute path. */
  cwd: string;
  /** How hard the agent thinks: one of the model's `efforts`. Default: the agent chooses. */
  effort?: string | null;
  /** The client's own key of the session. Two requests of one device with the same key open one session. */
  key?: string | null;
  /** MCP servers for the agent, besides the servers of the settings. */
  mcpServers?: McpServer[];
  /** What the agent may do without asking. Default: `ask`; if the agent has no such mode, its mode that allows least. */
  mode?: (Mode | null);
  /** The model. Default: the agent chooses. */
  model?: string | null;
  /** The first prompt. */
  prompt?: (PromptContent | null);
  /** The title. Default: the beginning of the first prompt. */
  title?: string | null;
};

/** A new token of the owner. */
export type OwnerToken = {
  /** Always true. Clients of Codex Pocket look for it. */
  ok: boolean;
  /** The token. */
  token: string;
};

/** A code for a new device. */
export type PairParams = {
  /** The device's name for people. Default: the device names itself. */
  label?: string | null;
  /** What the device may do. Default: `full`. */
  mode?: DeviceMode;
};

/** A paired device. Nobody can read its token again. */
export type PairedDevice = {
  /** The device. */
  device: Device;
  /** The token of the device. */
  token: string;
};

/** A code with which one device pairs. */
export type PairingCode = {
  /** The addresses at which other machines reach the hub, the best address first. */
  addresses: string[];
  /** The code. */
  code: string;
  /** When the code expires. */
  expiresAt: Timestamp;
  /** What the device may do. */
  mode: DeviceMode;
  /** The address at which the device uses the code. */
  pairUrl: string;
};

/** Conversations from elsewhere. */
export type PastConversations = {
  /** The number of conversations. */
  found: number;
  /** The number of conversations that are new in the list. */
  new: number;
  /** The number of conversations that the hub has yet to read. */
  unread: number;
};

/** What the caller's screen shows. */
export type PresenceParams = {
  /** The session on the screen; null if the screen shows something else. */
  session?: (SessionId | null);
  /** Whether anybody can see the screen. */
  visible: boolean;
};

/** An error, for programs and for people. */
export type Problem = {
  /** A stable code. */
  code: string;
  /** Data for programs. */
  details?: Record<string, unknown>;
  /** What to do next. */
  hint?: string | null;
  /** Whether the same request may succeed later. */
  retry: boolean;
  /** The HTTP status. */
  status: number;
  /** What happened. */
  title: string;
};

/** A folder that a person listed as a project. */
export type Project = {
  /** When it was listed. */
  addedAt: Timestamp;
  /** The folder: an absolute path. */
  path: string;
};

/** A project. */
export type ProjectParams = {
  /** The folder: an absolute path. */
  path: string;
};

/** The folders that people listed as projects. */
export type Projects = {
  /** The projects, in the order of their paths. */
  projects: Project[];
};

/** Text, or text and attachments. */
export type PromptContent = (string | PromptPart[]);

/** A prompt. */
export type PromptParams = {
  /** The content of the prompt. */
  content: PromptContent;
  /** The client's own key of the prompt. Two prompts with the same key are one prompt. */
  key?: string | null;
  /** The session. */
  session: SessionId;
  /** What to do when the agent is busy. */
  when?: When;
};

/** A part of a prompt. */
export type PromptPart = (
  | {
  /** The text. */
  text: string;
  type: "text";
}
  | Attachment & {
  type: "attachment";
});

/** A prompt that the hub accepted. */
export type PromptReceipt = {
  /** The id of the prompt. */
  prompt: PromptId;
  /** The event that records the prompt. */
  seq: Seq;
  /** The turn that it begins or steers. */
  turn: TurnId;
};

/** A button of the notification. */
export type PushAction = {
  /** The decision that the button sends. */
  action: Decision;
  /** The text of the button. */
  title: string;
};

/** The key with which a browser subscribes to pushes. */
export type PushKey = {
  /** The hub's public key (VAPID). */
  publicKey: string;
};

/** The keys that encrypt a push to a browser, in URL-safe base64. */
export type PushKeys = {
  /** A secret of 16 bytes that only the browser and the hub know. */
  auth: string;
  /** The browser's public key: a point of P-256, uncompressed. */
  p256dh: string;
};

/** Why the hub sends a push. */
export type PushKind = ("approval" | "question" | "finished" | "failed" | "stalled" | "test");

/** The content of a push. */
export type PushMessage = {
  /** The buttons of the notification. */
  actions?: PushAction[];
  /** The approval. */
  approval?: (ApprovalId | null);
  /** What it is about, for people. */
  body: string;
  /** Why somebody is woken. */
  kind: PushKind;
  /** The session. */
  session?: (SessionId | null);
  /** The session, for people. */
  title: string;
  /** The page that a tap opens. */
  url: string;
};

/** A browser's subscription to pushes. */
export type PushSubscribeParams = {
  /** The subscription as the browser gives it. The hub ignores unknown fields. */
  subscription: PushSubscription;
};

/** A browser's push subscription, as its push service issued it. */
export type PushSubscription = {
  /** The address that the push service created for this browser. */
  endpoint: string;
  /** The keys that encrypt a push to this browser. */
  keys: PushKeys;
};

/** A subscription to delete. */
export type PushUnsubscribeParams = {
  /** The endpoint of the subscription. Default: all subscriptions of the caller. */
  endpoint?: string | null;
};

/** A session whose agent's process has ended. */
export type Release = {
  /** How the session continues in the agent's own terminal, if it can. */
  handBack?: (HandBack | null);
};

/** Whether a project was removed. */
export type RemovedProject = {
  /** Whether it was listed. */
  removed: boolean;
};

/** Sessions that a restart of the hub interrupted. */
export type ResumedSessions = {
  /** The sessions that continue. */
  resumed: SessionId[];
  /** The sessions that continue as soon as their agents have reported the turns from their own terminals. */
  resuming: SessionId[];
};

/** How to wake an agent. */
export type ReviveParams = {
  /** Whether the agent gets what the log holds, instead of using its own memory. */
  fromLog?: boolean;
  /** The session. */
  session: SessionId;
};

/** A revoked device. */
export type RevokedDevice = {
  /** The device. */
  device: Device;
};

/** A search. */
export type SearchParams = {
  /** The most hits. Default: 20; maximum: 100. */
  limit?: number | null;
  /** The words to find. */
  q: string;
};

/** Which held prompts to send. */
export type SendQueuedParams = {
  /** Whether to send all held prompts. Default: only the next one. */
  all?: boolean;
  /** The session. */
  session: SessionId;
};

/** The number of pushes that the hub sent. */
export type SentPushes = {
  /** The number. */
  sent: number;
};

/** Some sessions of a list. */
export type SessionPage = {
  /** The `cursor` of the next page; null on the last page. */
  next: string | null;
  /** The sessions. */
  sessions: Session[];
};

/** A session. */
export type SessionParams = {
  /** The session. */
  session: SessionId;
};

/** A subscription to a session. */
export type SubscribeParams = {
  /** Only events after this seq. Default: all events. */
  after?: Seq;
  /** Whether to send the agents' own frames in `rawEvent`. */
  raw?: boolean;
  /** The session. */
  session: SessionId;
};

/** The socket follows a session. */
export type Subscribed = {
  after: Seq;
  session: SessionId;
};

/** Some items of a timeline. */
export type TimelinePage = {
  /** The seq of the newest event of the session. */
  head: Seq;
  /** The items, in order. */
  items: TimelineItem[];
  /** The `before` of the older page; null at the beginning. */
  next: (Seq | null);
};

/** Which items of a timeline to return. */
export type TimelineParams = {
  /** Only items that began before this seq. Default: the newest items. */
  before?: (Seq | null);
  /** The most items of the page. Default: 50; maximum: 500. */
  limit?: number | null;
  /** The session. */
  session: SessionId;
};

/** The socket no longer follows a session. */
export type Unsubscribed = {
  session: SessionId;
  /** Whether the socket followed the session. */
  subscribed: boolean;
};

/** The changes of a session. */
export type UpdateParams = {
  /** `true` archives the session; `false` takes it out of the archive. */
  archived?: boolean | null;
  /** How hard the agent thinks: one of the model's `efforts`. */
  effort?: string | null;
  /** What the agent may do without asking. */
  mode?: (Mode | null);
  /** The model. */
  model?: string | null;
  /** The order of the waiting prompts; the next prompt comes first. */
  queue?: PromptId[] | null;
  /** The session. */
  session: SessionId;
  /** The new title. */
  title?: string | null;
};

/** The usage of a time. */
export type UsageDays = {
  /** The usage by day, agent and project. */
  days: DayUsage[];
};

/** The time of the usage. */
export type UsageParams = {
  /** The number of days, back from today. Default: 30; maximum: 366. */
  days?: number | null;
};

/** Whether the socket gets the rows of sessions as they change. */
export type Watching = {
  watching: boolean;
};

/** What to do with a prompt if the agent is busy. */
export type When = ("queue" | "steer" | "interrupt");

/** Which models of an agent to return. */
export type WhichModels = ("asked" | "known");

/** Every method of the socket: what it takes and what comes back. */
export type Methods = {
  /** List all known agents, installed or not, with version, capabilities and models: `GET /api/v1/agents`. */
  agents: { params: ListAgentsParams; result: Agents };
  /** List the models of an agent: `GET /api/v1/agents/{agent}/models`. */
  models: { params: ListModelsParams; result: Models };
  /** List the machines that run agents: `GET /api/v1/machines`. */
  machines: { params: ListAgentsParams; result: Machines };
  /** List the folders in which a work tree could be: `GET /api/v1/folders`. */
  folders: { params: FoldersParams; result: FolderPage };
  /** List the folders that people listed as projects: `GET /api/v1/projects`. */
  projects: { params: NoParams; result: Projects };
  /** List a folder as a project: `POST /api/v1/projects`. */
  addProject: { params: ProjectParams; result: Project };
  /** List a folder as a project no longer; the folder stays: `DELETE /api/v1/projects`. */
  removeProject: { params: ProjectParams; result: RemovedProject };
  /** Sum the usage by day, agent and project: `GET /api/v1/usage`. */
  usage: { params: UsageParams; result: UsageDays };
  /** List sessions; the session that changed last comes first: `GET /api/v1/sessions`. */
  sessions: { params: ListParams; result: SessionPage };
  /** Open a session: `POST /api/v1/sessions`. */
  open: { params: OpenParams; result: Session };
  /** Get a session: `GET /api/v1/sessions/{session}`. */
  session: { params: SessionParams; result: Session };
  /** Change title, archive, mode, model, effort or queue of a session: `PATCH /api/v1/sessions/{session}`. */
  update: { params: UpdateParams; result: Session };
  /** Close a session for good: `DELETE /api/v1/sessions/{session}`. */
  close: { params: SessionParams; result: Session };
  /** Delete a session and its whole history: `DELETE /api/v1/sessions/{session}/history`. */
  deleteHistory: { params: SessionParams; result: DeletedSession };
  /** Copy a session; the copy continues on its own: `POST /api/v1/sessions/{session}/fork`. */
  fork: { params: ForkParams; result: Session };
  /** Start the agent of a session again: `POST /api/v1/sessions/{session}/revive`. */
  revive: { params: ReviveParams; result: Session };
  /** Stop the running turn: `POST /api/v1/sessions/{session}/interrupt`. */
  interrupt: { params: SessionParams; result: Session };
  /** Resume an interrupted turn: `POST /api/v1/sessions/{session}/resume`. */
  resume: { params: SessionParams; result: Session };
  /** Resume all sessions that a restart of the hub interrupted: `POST /api/v1/resume`. */
  resumeAll: { params: NoParams; result: ResumedSessions };
  /** End the agent's process, so that the session can continue in the agent's own terminal: `POST /api/v1/sessions/{session}/release`. */
  release: { params: SessionParams; result: Release };
  /** Get the command that continues a session in the agent's own terminal, or null: `GET /api/v1/sessions/{session}/hand-back`. */
  handBack: { params: SessionParams; result: (HandBack | null) };
  /** Look for conversations in the agents' own records, and list them as sessions: `POST /api/v1/import/past`. */
  importPast: { params: NoParams; result: PastConversations };
  /** Import events of an exported session: `POST /api/v1/import`. */
  import: { params: ImportParams; result: Session };
  /** Send a prompt: `POST /api/v1/sessions/{session}/prompts`. */
  prompt: { params: PromptParams; result: PromptReceipt };
  /** Rewrite a waiting prompt: `PATCH /api/v1/sessions/{session}/prompts/{prompt}`. */
  editPrompt: { params: EditPromptParams; result: Session };
  /** Cancel a waiting prompt: `DELETE /api/v1/sessions/{session}/prompts/{prompt}`. */
  cancelPrompt: { params: CancelPromptParams; result: Session };
  /** Send held prompts: `POST /api/v1/sessions/{session}/queue/send`. */
  sendQueued: { params: SendQueuedParams; result: Session };
  /** Cancel all waiting prompts: `DELETE /api/v1/sessions/{session}/queue`. */
  discardQueue: { params: SessionParams; result: Session };
  /** Get events: a page as JSON, all as NDJSON, or live as server-sent events; Accept chooses: `GET /api/v1/sessions/{session}/events`. */
  events: { params: EventsParams; result: EventPage };
  /** Get items of the timeline; the newest page comes first: `GET /api/v1/sessions/{session}/timeline`. */
  timeline: { params: TimelineParams; result: TimelinePage };
  /** Search all sessions for words: `GET /api/v1/search`. */
  search: { params: SearchParams; result: Hits };
  /** List everything that waits for a person, oldest first: `GET /api/v1/approvals`. */
  approvals: { params: NoParams; result: Inbox };
  /** Decide an approval; the first decision wins: `POST /api/v1/approvals/{approval}`. */
  decide: { params: DecideParams; result: DecidedApproval };
  /** Answer a question: `POST /api/v1/questions/{question}`. */
  answer: { params: AnswerParams; result: AnsweredQuestion };
  /** Get the caller, and what the caller may do: `GET /api/v1/me`. */
  me: { params: NoParams; result: Me };
  /** List all devices, also revoked devices: `GET /api/v1/devices`. */
  devices: { params: NoParams; result: Devices };
  /** Revoke a device, and end its connections: `DELETE /api/v1/devices/{device}`. */
  revoke: { params: DeviceParams; result: RevokedDevice };
  /** Make a code with which one device pairs: `POST /admin/pair/new`. */
  pair: { params: PairParams; result: PairingCode };
  /** Make a code with which one phone with mobile-agent pairs: `POST /admin/pair/mobile`. */
  pairMobile: { params: PairParams; result: MobilePairing };
  /** Make a new token for the owner: `POST /admin/token/rotate`. */
  rotateToken: { params: NoParams; result: OwnerToken };
  /** Report what the caller's screen shows: `POST /api/v1/presence`. */
  presence: { params: PresenceParams; result: Nothing };
  /** Get the key with which a browser subscribes to pushes: `GET /api/v1/push/key`. */
  pushKey: { params: NoParams; result: PushKey };
  /** Subscribe the caller's browser to pushes: `POST /api/v1/push/subscribe`. */
  pushSubscribe: { params: PushSubscribeParams; result: Nothing };
  /** End the caller's subscription to pushes: `DELETE /api/v1/push/subscribe`. */
  pushUnsubscribe: { params: PushUnsubscribeParams; result: Nothing };
  /** Send a test push to the caller's own browsers: `POST /api/v1/push/test`. */
  pushTest: { params: NoParams; result: SentPushes };
  /** Follow a session. */
  subscribe: { params: SubscribeParams; result: Subscribed };
  /** Stop following a session. */
  unsubscribe: { params: SessionParams; result: Unsubscribed };
  /** Get a notification when the row of a session changes. */
  watch: { params: NoParams; result: Watching };
  /** Stop these notifications. */
  unwatch: { params: NoParams; result: Watching };
  /** Check that the hub answers. */
  ping: { params: NoParams; result: Nothing };
};
