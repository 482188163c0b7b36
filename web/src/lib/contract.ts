// The words of the hub, as generated from its Rust types. Nothing is copied.
export type * from "../../../crates/longshore-model/contract/longshore.ts";

import type {
  AgentInfo,
  DayUsage,
  Device,
  DeviceMode,
  Event,
  Folders as Found,
  OpenApproval,
  OpenQuestion,
  Session,
  TimelineItem,
} from "../../../crates/longshore-model/contract/longshore.ts";

/** Why the hub refused, see docs/errors.md. */
export type Problem = {
  code: string;
  status: number;
  title: string;
  hint?: string;
  retry: boolean;
  details?: Record<string, unknown>;
};

export type SessionPage = { sessions: Session[]; next: string | null };
export type TimelinePage = { items: TimelineItem[]; next: number | null; head: number };
export type EventPage = { events: Event[]; next: number | null; head: number };
export type Waiting = { approvals: OpenApproval[]; questions: OpenQuestion[]; interrupted: Session[]; held: Session[] };
export type Agents = { agents: AgentInfo[] };
export type Hit = { session: string; title: string; seq: number; item?: string | null; snippet: string; at: string };
export type HandBack = { cwd: string; command: string[]; line: string } | null;

/** What to do with a prompt when the agent is busy. */
export type When = "queue" | "steer" | "interrupt";

export type Me = { role: "owner" | "device"; device?: Device | null; mode: DeviceMode };
/** `addresses`: where others reach the hub, the best one first. */
export type PairCode = { code: string; expiresAt: string; pairUrl: string; addresses?: string[] };
export type Machine = { name: string; agents: AgentInfo[] };
/** Where a work tree could be, and where some were. */
export type Folders = Found & { recent: string[] };
export type UsageDay = DayUsage;
export type PushMessage = {
  kind: string;
  title: string;
  body: string;
  session?: string;
  approval?: string;
  url?: string;
  actions?: { action: string; title: string }[];
};
