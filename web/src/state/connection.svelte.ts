// The connection to the hub: how it stands, and who we are there.
import type { Me, Methods } from "../lib/contract.ts";
import { denial, http, socketAddress } from "../lib/http.ts";
import { Link, Refusal, type LinkState } from "../lib/socket.ts";

/** What is done when the hub is there, says something of its own accord, or no longer knows this device. */
export type Listener = {
  opened(): void;
  notified(method: string, params: unknown): void;
  denied(): void;
};

class Connection {
  state = $state<LinkState>("connecting");
  /** Whether there ever was a connection: before, silence is no news. */
  met = $state(false);
  nextAttempt = $state(0);
  me = $state.raw<Me | undefined>();
  /** Why the hub does not let us in. */
  denial = $state<string | undefined>();

  private listener: Listener | undefined;
  private readonly link = new Link(socketAddress, {
    state: (state) => {
      this.state = state;
      this.nextAttempt = this.link.nextAttempt;
      if (state === "denied") this.listener?.denied();
    },
    opened: () => {
      this.met = true;
      this.listener?.opened();
    },
    notified: (method, params) => this.listener?.notified(method, params),
    denied: async () => (this.denial = await denial()) !== undefined,
  });

  start(listener: Listener): void {
    this.listener = listener;
    this.denial = undefined;
    this.link.start();
  }

  stop(): void {
    this.link.stop();
  }

  /** There may be a way to the hub again. */
  poke(): void {
    this.link.poke();
  }

  /** The device says that it has no network. */
  lost(): void {
    this.link.lost();
  }

  call<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    return this.link.call(method, params);
  }

  /** Asks the hub who we are; one that knows no devices has only an owner. */
  async askWho(): Promise<Me> {
    try {
      return await http<Me>("GET", "/api/v1/me");
    } catch (error) {
      if (error instanceof Refusal && error.problem.status === 404) return { role: "owner", mode: "full" };
      throw error;
    }
  }
}

export const connection = new Connection();
