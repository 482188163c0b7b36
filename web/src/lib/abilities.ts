// What may be offered for a session: what its agent can do, what this device may do, and how the session stands.
import type { AgentInfo, Me, Mode, ModelInfo, Session, When } from "./contract.ts";

export type Offers = {
  /** Say something; `why` tells why not. */
  prompt: boolean;
  why?: string;
  /** What may become of words said while a turn runs, the usual one first. */
  whens: When[];
  stop: boolean;
  attach: boolean;
  fork: boolean;
  /** Fork from a message in the middle. */
  forkBefore: boolean;
  close: boolean;
  rename: boolean;
  wake: boolean;
  handBack: boolean;
  decide: boolean;
  answer: boolean;
  modes: Mode[];
  /** Whether it can be given another model, and which; none is known before it was asked. */
  model: boolean;
  models: ModelInfo[] | undefined;
  /** Whether it can be told how hard to think. */
  effort: boolean;
  delete: boolean;
};

/** Acting means everything but reading and deciding. */
export const mayAct = (me: Me | undefined): boolean => (me?.mode ?? "full") === "full";
export const mayDecide = (me: Me | undefined): boolean => (me?.mode ?? "full") !== "read_only";
/** Answering a question is saying something to the agent. */
export const mayAnswer = mayAct;
export const mayManage = (me: Me | undefined): boolean => (me?.role ?? "owner") === "owner" || me?.mode === "full";

/** What a device is told that may not act. */
export const watches = (me: Me | undefined): string =>
  "This device can only watch." + (mayDecide(me) ? " It can answer approvals." : "");

export function offers(session: Session, agent: AgentInfo | undefined, me: Me | undefined): Offers {
  const can = session.capabilities;
  const act = mayAct(me);
  const closed = session.activity === "closed";
  const running = session.status === "active";
  const live = act && !closed;
  // The first prompt of a session is always there; more of them only where the agent holds conversations.
  const prompt = live && can.sendPrompt !== false;
  return {
    prompt,
    ...(!prompt && { why: closed ? "This session has ended." : act ? "Sub-agents can't be messaged." : watches(me) }),
    whens: !running
      ? ["queue"]
      : ["queue", ...(can.steer ? (["steer"] as const) : []), ...(can.interrupt ? (["interrupt"] as const) : [])],
    stop: live && running && can.interrupt,
    attach: live && can.attachments,
    fork: act && can.fork,
    // An agent that cannot forget a part is told the rest.
    forkBefore: act && can.sendPrompt !== false,
    close: live,
    rename: act,
    wake: live && session.activity === "sleeping",
    handBack: Boolean(agent?.resume),
    decide: mayDecide(me),
    answer: mayAnswer(me),
    modes: live && can.modes.length > 1 ? can.modes : [],
    model: live && can.models,
    models: agent?.models,
    effort: live && Boolean(can.effort),
    delete: act,
  };
}

/**
 * Agents that can work, those that somebody would have to log in to first, and those that would have to be installed.
 */
export function sortAgents(agents: AgentInfo[]): { ready: AgentInfo[]; loggedOut: AgentInfo[]; missing: AgentInfo[] } {
  const here = agents.filter((agent) => agent.path);
  return {
    ready: here.filter(isReady),
    loggedOut: here.filter((agent) => !isReady(agent)),
    missing: agents.filter((agent) => !agent.path),
  };
}
/** Nobody knows of every agent whether somebody is logged in. */
export const isReady = (agent: AgentInfo): boolean => Boolean(agent.path) && agent.loggedIn !== false;

/** Agents that are installed, those first that can work. */
export function installed(agents: AgentInfo[]): AgentInfo[] {
  const { ready, loggedOut } = sortAgents(agents);
  return [...ready, ...loggedOut];
}

/**
 * What agents tell now, with the models they told before where they have not been asked since: a model keeps its name.
 */
export function knowingModels(agents: AgentInfo[], before: AgentInfo[]): AgentInfo[] {
  return agents.map((agent) => ({
    ...agent,
    models: agent.models ?? before.find((one) => one.name === agent.name)?.models,
  }));
}

/** How hard a model can be told to think; those of the usual one when none is chosen. */
export function effortsOf(models: ModelInfo[] | undefined, model: string | null | undefined): string[] {
  const found = models?.find((one) => one.id === model) ?? models?.find((one) => one.default) ?? models?.[0];
  return found?.efforts ?? [];
}
