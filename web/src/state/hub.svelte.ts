// What this page knows of the hub: who we are, its sessions and agents, and what waits to be sent.
import { knowingModels } from "../lib/abilities.ts";
import { titled } from "../lib/words.ts";
import { untrack } from "svelte";
import { freshKey, Outbox, type Wish } from "../lib/outbox.ts";
import { onDisk } from "../lib/shelf.ts";
import { draftName, drafts, forgetAsk } from "../lib/drafts.ts";
import { giveBack } from "../lib/giveback.ts";
import { Frames } from "../lib/frames.ts";
import { denial, http, socketAddress } from "../lib/http.ts";
import { putAway } from "../lib/groups.ts";
import { marksOf } from "../lib/marks.ts";
import { memory } from "../lib/memory.ts";
import { Link, Refused, type LinkState } from "../lib/socket.ts";
import { cutAsks, withWhole } from "../lib/whole.ts";
import type { AgentInfo, Agents, Event, Machine, Me, ModelInfo, Problem, QueuedPrompt, Session, SessionPage, Waiting } from "../lib/contract.ts";
import { Live } from "./live.svelte.ts";
import { toasts, wordsOf } from "./toasts.svelte.ts";

/** How many sessions are kept in mind after they were looked at. */
const REMEMBERED = 6;
/** The list is written down so often at most. */
const KEEP_EVERY = 4_000;

class Hub {
  state = $state<LinkState>("connecting");
  /** Whether there ever was a connection: before, silence is no news. */
  met = $state(false);
  nextAttempt = $state(0);
  me = $state.raw<Me | undefined>();
  agents = $state.raw<AgentInfo[]>([]);
  readonly marks = $derived(marksOf(this.agents));
  machines = $state.raw<Machine[]>([]);
  sessions = $state.raw<ReadonlyMap<string, Session>>(new Map());
  listed = $state(false);
  /** When the list was seen, as long as it comes from an earlier visit. */
  asOf = $state<number | undefined>();
  /** Why the hub does not let us in. */
  denial = $state<string | undefined>();
  /** The cursor of the next page of sessions. */
  more = $state<string | null>(null);
  /** The same of the archive, once some of it was asked for. */
  archive = $state<string | null | undefined>();
  wishes = $state.raw<Wish[]>([]);
  /** Grows with everything that is given back to whoever wrote it: then drafts are read again. */
  givenBack = $state(0);
  /** A clock that is good enough for "4 min ago". */
  now = $state(Date.now());

  private started = false;
  private changed = new Map<string, Session>();
  /** The sessions that are being asked for what their rows leave out. */
  private completing = new Set<string>();
  private keeping: ReturnType<typeof setTimeout> | undefined;
  private lives = new Map<string, Live>();
  /** Why the models of an agent are not known. */
  modelFaults = $state.raw<Record<string, string>>({});
  /** The agents whose models this hub has told, or was asked for. */
  private asked = new Set<string>();
  private frames = new Frames(() => this.draw());
  readonly outbox = new Outbox(onDisk, (wish) => this.send(wish), () => this.wished());
  readonly link = new Link(socketAddress, {
    state: (state) => {
      this.state = state;
      this.nextAttempt = this.link.nextAttempt;
      if (state === "denied") this.forget();
    },
    opened: () => void this.opened(),
    notified: (method, params) => this.notified(method, params),
    denied: async () => (this.denial = await denial()) !== undefined,
  });

  start(): void {
    if (this.started) return this.restart();
    this.started = true;
    void this.recall();
    this.link.start();
    void this.outbox.load();
    setInterval(() => (this.now = Date.now()), 20_000);
    // What the hub refused for the moment is tried again without a new reason.
    setInterval(() => void this.outbox.flush(), 10_000);
    const poke = () => {
      this.now = Date.now();
      if (document.visibilityState === "visible") this.link.poke();
    };
    addEventListener("online", poke);
    addEventListener("offline", () => this.link.lost());
    addEventListener("pageshow", poke);
    addEventListener("focus", poke);
    document.addEventListener("visibilitychange", poke);
  }

  /** Shows what an earlier visit saw, until the hub says more. */
  private async recall(): Promise<void> {
    const kept = await memory.list();
    if (!kept || this.listed || this.state === "denied") return;
    if (!this.agents.length) this.agents = kept.agents;
    this.sessions = new Map([...kept.sessions.map((row): [string, Session] => [row.sessionId, row]), ...this.sessions]);
    this.asOf = kept.at;
  }

  /** Nothing of what was seen or begun is left on this device. */
  forget(): void {
    clearTimeout(this.keeping);
    this.keeping = undefined;
    this.sessions = new Map();
    this.archive = undefined;
    this.changed.clear();
    this.lives.clear();
    this.listed = false;
    this.asOf = undefined;
    this.me = undefined;
    drafts.forgetAll();
    void this.outbox.clear();
    void memory.clear();
  }

  /** Gives the cookie back: this device is no longer known here. */
  async signOut(): Promise<void> {
    await http("DELETE", "/pair/token");
    this.forget();
    this.link.stop();
    location.assign("/");
  }

  /** Somebody else now, or the same with another token. */
  private restart(): void {
    this.link.stop();
    this.denial = undefined;
    this.forget();
    this.link.start();
  }

  call<T>(method: string, params: object = {}): Promise<T> {
    return this.link.call<T>(method, params);
  }

  agent(name: string): AgentInfo | undefined {
    return this.agents.find((agent) => agent.name === name);
  }

  /** The timeline of a session, followed from now on. */
  follow(session: string): Live {
    return untrack(() => this.following(session));
  }

  private following(session: string): Live {
    const known = this.lives.get(session);
    this.lives.delete(session);
    const live = known ?? new Live(session, this);
    this.lives.set(session, live);
    if (!known) void live.recall();
    if (!known && this.state === "open") void live.connect();
    for (const [id, old] of this.lives) {
      if (this.lives.size <= REMEMBERED) break;
      this.lives.delete(id);
      old.leave();
    }
    return live;
  }

  async wish(session: string, method: Wish["method"], params: Record<string, unknown>, says: string): Promise<void> {
    await this.outbox.add({ key: freshKey(), at: Date.now(), session, method, params, says });
  }

  /** Whether something more may wait to be sent; says so when not, before anything that was written is put away. */
  hasRoom(): boolean {
    if (this.outbox.full) toasts.say("Too much waits to be sent already. Try again when you're back online.", true);
    return !this.outbox.full;
  }

  /** Takes a wish back, or lets go of one that was refused. What was written for it goes back to where it was written. */
  takeBack(wish: Wish): void {
    giveBack(drafts, wish);
    this.givenBack += 1;
    void this.outbox.remove(wish.key);
  }

  /** What was wished for an approval or a question and has not been answered. */
  wishFor(ask: string): Wish | undefined {
    return this.wishes.find((wish) => wish.params["approval"] === ask || wish.params["question"] === ask);
  }

  known(session: Session): void {
    const id = session.sessionId;
    this.changed.set(id, withWhole(session, this.newest(id)));
    this.frames.ask();
  }

  private newest(session: string): Session | undefined {
    return this.changed.get(session) ?? this.sessions.get(session);
  }

  /** Asks for what a row leaves out of an ask: nobody decides on less than all of it. */
  private async complete(session: string): Promise<void> {
    if (this.completing.has(session)) return;
    this.completing.add(session);
    // When it does not come, the next connection asks anew.
    const whole = await this.call<Session>("session", { session }).catch(() => undefined);
    this.completing.delete(session);
    const row = this.newest(session);
    const better = row && withWhole(row, whole);
    // An ask that is over by now is not there either: the row that says so is on its way.
    if (row && better && cutAsks(better) < cutAsks(row)) this.known(better);
  }

  /** The words of a prompt that waits as they were written; none when it no longer waits. */
  async promptWords(session: string, prompt: QueuedPrompt): Promise<string | undefined> {
    if (!prompt.cut) return prompt.text;
    const { queue } = await this.call<Session>("session", { session });
    return queue?.find((one) => one.prompt === prompt.prompt)?.text;
  }

  /** A change of a session; its row is taken over from the answer. */
  async change(method: string, params: { session: string } & Record<string, unknown>): Promise<Session> {
    const session = await this.call<Session>(method, params);
    this.known(session);
    return session;
  }

  async loadMore(archived = false): Promise<void> {
    const cursor = archived ? this.archive : this.more;
    const page = await this.call<SessionPage>("sessions", { limit: 200, archived, ...(cursor && { cursor }) });
    for (const session of page.sessions) this.known(session);
    this.draw();
    if (archived) this.archive = page.next;
    else this.more = page.next;
  }

  async loadAgents(): Promise<void> {
    const { agents } = await this.call<Agents>("agents", { models: "known" });
    for (const agent of agents) if (agent.models) this.asked.add(agent.name);
    this.agents = knowingModels(agents, this.agents);
  }

  /** What an agent is called, also one that is no longer there. */
  agentTitle(name: string): string {
    return this.agent(name)?.title ?? titled(name);
  }

  /** Asks an agent for its models, once: it has a process to start for that. One that did not answer can be asked again. */
  async loadModels(name: string): Promise<void> {
    const agent = this.agent(name);
    if (!agent?.path || !agent.capabilities.models || this.asked.has(name)) return;
    // Those of an earlier visit do until the hub is there.
    if (agent.models && this.state !== "open") return;
    this.asked.add(name);
    const { [name]: _, ...others } = this.modelFaults;
    this.modelFaults = others;
    let told: { models: ModelInfo[] };
    try {
      told = await this.call<{ models: ModelInfo[] }>("models", { agent: name });
    } catch (error) {
      this.asked.delete(name);
      if (!agent.models) this.modelFaults = { ...others, [name]: wordsOf(error) };
      return;
    }
    const tell = (agents: AgentInfo[]) => agents.map((one) => (one.name === name ? { ...one, ...told } : one));
    this.agents = tell(this.agents);
    this.machines = this.machines.map((machine) => ({ ...machine, agents: tell(machine.agents) }));
  }

  /** Other machines, where the hub has any; agents of all of them are known by their names. */
  async loadMachines(): Promise<void> {
    try {
      this.machines = (await http<{ machines: Machine[] }>("GET", "/api/v1/machines?models=known")).machines;
    } catch {
      this.machines = [];
    }
  }

  private async send(wish: Wish): Promise<unknown> {
    const params = wish.method === "prompt" ? { ...wish.params, session: wish.session, key: wish.key } : wish.params;
    const answer = await this.call(wish.method, params);
    if (wish.method === "open") this.known(answer as Session);
    return answer;
  }

  private async opened(): Promise<void> {
    this.met = true;
    this.asked.clear();
    try {
      const who = http<Me>("GET", "/api/v1/me").catch((error): Me => {
        if (error instanceof Refused && error.problem.status === 404) return { role: "owner", mode: "full" };
        throw error;
      });
      await this.call("watch");
      await this.relist();
      this.me = await who;
      await this.outbox.flush();
      await this.loadAgents();
    } catch {
      // The link is gone again; the next one starts over.
    }
  }

  private async relist(): Promise<void> {
    const lives = [...this.lives.values()].map((live) => live.connect());
    const page = await this.call<SessionPage>("sessions", { limit: 200 });
    this.more = page.next;
    for (const session of page.sessions) this.known(session);
    // An approval may wait in a session that is too old for the first page.
    const { approvals, questions, interrupted, held } = await this.call<Waiting>("approvals");
    for (const session of [...interrupted, ...held]) this.known(session);
    for (const session of this.changed.values()) this.known(withWhole(session, { approvals, questions }));
    const missing = new Set([...approvals, ...questions].map((ask) => ask.session).filter((id) => !this.changed.has(id)));
    // One that was waiting when the connection broke may be over by now, and too old for the page as well.
    for (const session of this.sessions.values()) if (session.status === "active" && !this.changed.has(session.sessionId)) missing.add(session.sessionId);
    for (const session of missing) this.known(await this.call<Session>("session", { session }));
    this.draw();
    this.listed = true;
    this.asOf = undefined;
    await this.askForGone(page);
    await Promise.all(lives);
  }

  /** What should be on the page by its age and is not was put away while nobody told us, or deleted. */
  private async askForGone(page: SessionPage): Promise<void> {
    const there = new Set(page.sessions.map((session) => session.sessionId));
    const oldest = page.next === null ? "" : (page.sessions.at(-1)?.updatedAt ?? "");
    const gone = [...this.sessions.values()].filter((session) => !putAway(session) && !session.parent && session.updatedAt > oldest && !there.has(session.sessionId));
    for (const { sessionId } of gone) {
      try {
        this.known(await this.call<Session>("session", { session: sessionId }));
      } catch (error) {
        if (!(error instanceof Refused && error.problem.code === "unknown_session")) throw error;
        this.drop(sessionId);
      }
    }
  }

  /** A session that is no more. */
  drop(session: string): void {
    this.changed.delete(session);
    if (this.sessions.has(session)) {
      const left = new Map(this.sessions);
      left.delete(session);
      this.sessions = left;
    }
    this.lives.delete(session);
    drafts.forget(draftName.prompt(session));
    drafts.forget(draftName.files(session));
    void memory.forget(session);
    this.keep();
  }

  private keep(): void {
    this.keeping ??= setTimeout(() => {
      this.keeping = undefined;
      if (this.listed) void memory.keepList(this.sessions.values(), this.agents);
    }, KEEP_EVERY);
  }

  private notified(method: string, params: unknown): void {
    switch (method) {
      case "event": {
        const event = params as Event;
        this.lives.get(event.sessionId)?.take(event);
        return;
      }
      case "session":
        return this.known(params as Session);
      case "sessionDeleted": {
        const { session } = params as { session: string };
        this.lives.get(session)?.gone();
        return this.drop(session);
      }
      case "relist":
        void this.relist().catch(() => {});
        return;
      case "resume": {
        const { session, problem } = params as { session: string; problem?: Problem };
        void this.lives.get(session)?.resume(problem);
      }
    }
  }

  private draw(): void {
    if (!this.changed.size) return;
    const sessions = new Map(this.sessions);
    for (const [id, session] of this.changed) sessions.set(id, session);
    const cut = [...this.changed.values()].filter((session) => cutAsks(session));
    this.changed.clear();
    this.sessions = sessions;
    for (const { sessionId } of cut) void this.complete(sessionId);
    this.keep();
  }

  private wished(): void {
    this.wishes = this.outbox.wishes;
    for (const wish of this.wishes) {
      if (wish.state !== "done") continue;
      for (const ask of [wish.params["approval"], wish.params["question"]]) if (typeof ask === "string") forgetAsk(ask);
      // Nobody looks at that timeline, so nothing has to stand in for it.
      if (!this.lives.has(wish.session)) this.outbox.reached(wish.session, Infinity);
      // A decision shows as decided in a moment; until then its buttons stay away.
      if (wish.seq === undefined) setTimeout(() => void this.outbox.remove(wish.key), 3_000);
    }
  }
}

export const hub = new Hub();
export type { Hub };
