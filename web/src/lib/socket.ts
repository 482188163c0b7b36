// One WebSocket to the hub that speaks JSON-RPC 2.0, and comes back by itself.
//
// It knows no sessions: whoever follows one subscribes again, `after` what it has, whenever `opened` is told.
import type { Methods, Problem } from "./contract.ts";

/** The hub said no. */
export class Refusal extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.title);
    this.problem = problem;
  }
}

/** The answer did not come: nobody knows whether it was done, unless it was not even sent. */
export class ConnectionLost extends Error {
  constructor(readonly sent = true) {
    super("the connection was lost");
  }
}

export type LinkState = "connecting" | "open" | "waiting" | "denied";

/** What a link needs of the world; tests bring their own. */
export type World = {
  connect(url: string): WebSocket;
  now(): number;
  later(run: () => void, ms: number): unknown;
  cancel(handle: unknown): void;
};

const browser: World = {
  connect: (url) => new WebSocket(url),
  now: () => Date.now(),
  later: (run, ms) => setTimeout(run, ms),
  cancel: (handle) => clearTimeout(handle as number),
};

/** How long an answer may take before the link counts as dead. Opening a session starts an agent. */
const ANSWER_WITHIN = 60_000;
/** How long the hub may take to answer a ping. */
const PONG_WITHIN = 6_000;
const PING_EVERY = 25_000;
/** The n-th attempt in a row waits so long; the last one counts from then on. */
const PAUSES = [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000];
/** An attempt that neither succeeds nor fails is given up. */
const CONNECT_WITHIN = 10_000;

type Call = { resolve(value: unknown): void; reject(error: Error): void; timer: unknown };

export class Link {
  state: LinkState = "connecting";
  /** When the next attempt is made, while waiting. */
  nextAttempt = 0;
  private socket: WebSocket | undefined;
  private calls = new Map<number, Call>();
  private nextId = 1;
  private failures = 0;
  private timer: unknown;
  private beat: unknown;
  private ended = false;

  constructor(
    private readonly address: () => string,
    private readonly told: {
      state(state: LinkState): void;
      opened(): void;
      notified(method: string, params: unknown): void;
      /** Asked after a failure: is it us? True when the hub no longer knows who we are. */
      denied(): Promise<boolean>;
    },
    private readonly world: World = browser,
  ) {}

  start(): void {
    this.ended = false;
    this.connect();
  }

  stop(): void {
    this.ended = true;
    this.drop();
  }

  /** The machine woke up, the network is back, the page is looked at: do not trust the socket, and do not wait. */
  poke(): void {
    if (this.ended || this.state === "denied") return;
    if (this.state === "open") void this.ping();
    else if (this.state === "waiting") this.connect();
  }

  /** The network is gone: what is open is not believed, and tried anew. */
  lost(): void {
    if (this.socket && this.state === "open") void this.fail(this.socket);
  }

  call<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    within = ANSWER_WITHIN,
  ): Promise<Methods[M]["result"]> {
    const socket = this.socket;
    if (this.state !== "open" || !socket) return Promise.reject(new ConnectionLost(false));
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      const timer = this.world.later(() => {
        this.calls.delete(id);
        reject(new ConnectionLost());
      }, within);
      this.calls.set(id, { resolve: resolve as (value: unknown) => void, reject, timer });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  private setState(state: LinkState): void {
    if (this.state === state) return;
    this.state = state;
    this.told.state(state);
  }

  private connect(): void {
    this.drop();
    this.setState("connecting");
    const socket = this.world.connect(this.address());
    this.socket = socket;
    this.timer = this.world.later(() => this.fail(socket), CONNECT_WITHIN);
    socket.onopen = () => {
      if (socket !== this.socket) return;
      this.world.cancel(this.timer);
      this.failures = 0;
      this.setState("open");
      this.beat = this.world.later(() => void this.ping(), PING_EVERY);
      this.told.opened();
    };
    socket.onmessage = ({ data }) => {
      if (socket === this.socket) this.received(String(data));
    };
    socket.onclose = () => this.fail(socket);
    socket.onerror = () => {};
  }

  private async ping(): Promise<void> {
    const socket = this.socket;
    this.world.cancel(this.beat);
    try {
      await this.call("ping", {}, PONG_WITHIN);
      if (socket === this.socket) this.beat = this.world.later(() => void this.ping(), PING_EVERY);
    } catch {
      if (socket && socket === this.socket) this.fail(socket);
    }
  }

  private received(data: string): void {
    let message: {
      id?: number;
      method?: string;
      params?: unknown;
      result?: unknown;
      error?: { message: string; data?: Problem };
    };
    try {
      message = JSON.parse(data);
    } catch {
      return;
    }
    if (message.method !== undefined) return this.told.notified(message.method, message.params);
    const call = message.id === undefined ? undefined : this.calls.get(message.id);
    if (!call) return;
    this.calls.delete(message.id as number);
    this.world.cancel(call.timer);
    if (message.error) {
      const { data, message: title } = message.error;
      call.reject(new Refusal(data ?? { code: "internal", status: 500, title, retry: false }));
    } else call.resolve(message.result);
  }

  private async fail(socket: WebSocket): Promise<void> {
    if (socket !== this.socket || this.ended) return;
    this.drop();
    this.failures += 1;
    const pause = PAUSES[Math.min(this.failures, PAUSES.length) - 1] as number;
    // Everybody comes back after a restart of the hub; not all at once.
    const wait = pause * (0.75 + Math.random() / 2);
    this.nextAttempt = this.world.now() + wait;
    this.setState("waiting");
    this.timer = this.world.later(() => this.connect(), wait);
    if (this.failures !== 1 && this.failures % 3 !== 0) return;
    if (await this.told.denied()) {
      this.drop();
      this.setState("denied");
    }
  }

  /** Lets go of the socket; who waits for an answer learns that it is lost. */
  private drop(): void {
    this.world.cancel(this.timer);
    this.world.cancel(this.beat);
    const socket = this.socket;
    this.socket = undefined;
    if (socket) socket.close();
    const waiting = [...this.calls.values()];
    this.calls.clear();
    for (const call of waiting) {
      this.world.cancel(call.timer);
      call.reject(new ConnectionLost());
    }
  }
}
