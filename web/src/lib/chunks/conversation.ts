// A client of the chunks protocol that loses nothing: it names its message, and continues a broken stream behind the
// last object that it has seen.
import { Answer } from "./answer.ts";
import { Splitter } from "./split.ts";
import type { Chunk } from "./wire.ts";

export type Options = {
  /** The address of the hub; with a token in its path, `/with-token/TOKEN` stands at its end. */
  base: string;
  token?: string;
  fetch?: typeof fetch;
  /** How long to wait before each further try, in milliseconds. */
  waits?: number[];
};

const WAITS = [250, 1_000, 2_000, 4_000];

/** The hub refused a request. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly detail: unknown,
  ) {
    super(typeof detail === "string" ? detail : `the hub answered with ${status}`);
  }
}

export class Conversation {
  private readonly fetch: typeof fetch;

  constructor(
    readonly id: string,
    private readonly options: Options,
  ) {
    this.fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** Sends a message, and tells of every change of the answer. `name` is the same for every try of one message. */
  async send(content: string, name: string, changed: (answer: Answer) => void): Promise<Answer> {
    const form = new FormData();
    form.set("content", content);
    form.set("node_ids", "[]");
    const query = `stream=true&format=sse&session_id=${encodeURIComponent(name)}`;
    return this.follow((last) => this.request("POST", `message?${query}`, form, last), changed);
  }

  /** Follows a turn that runs, or ran. */
  resume(name: string, changed: (answer: Answer) => void): Promise<Answer> {
    const path = `resume/${encodeURIComponent(name)}?format=sse`;
    return this.follow((last) => this.request("POST", path, undefined, last), changed);
  }

  /** The name of the turn that runs; none if nothing runs. */
  async active(): Promise<string | undefined> {
    const response = await this.raw("GET", "active-session");
    if (response.status === 404) return undefined;
    const active = (await (await accepted(response)).json()) as { sessionId: string; status: string };
    return active.status === "active" ? active.sessionId : undefined;
  }

  async stop(): Promise<void> {
    await this.request("POST", "stop", JSON.stringify({}));
  }

  private async follow(
    open: (last: string | undefined) => Promise<Response>,
    changed: (answer: Answer) => void,
  ): Promise<Answer> {
    const answer = new Answer();
    const waits = [...(this.options.waits ?? WAITS)];
    const stream = new EventReader((chunk) => {
      answer.apply(chunk);
      changed(answer);
    });
    for (;;) {
      try {
        await stream.read(await open(stream.last));
        if (stream.hasEnded) return answer;
      } catch (error) {
        if (error instanceof Refused && error.status < 500) throw error;
        if (waits.length === 0) throw error;
      }
      const wait = waits.shift();
      if (wait === undefined) throw new Error("the stream broke off too often");
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  private async request(method: string, path: string, body?: BodyInit, last?: string): Promise<Response> {
    return accepted(await this.raw(method, path, body, last));
  }

  private raw(method: string, path: string, body?: BodyInit, last?: string): Promise<Response> {
    const headers = new Headers();
    if (this.options.token) headers.set("authorization", `Bearer ${this.options.token}`);
    if (typeof body === "string") headers.set("content-type", "application/json");
    if (last) headers.set("last-event-id", last);
    const url = `${this.options.base}/api/v1/conversations/${encodeURIComponent(this.id)}/${path}`;
    return this.fetch(url, { method, headers, ...(body !== undefined && { body }) });
  }
}

async function accepted(response: Response): Promise<Response> {
  if (response.ok) return response;
  const said = (await response.json().catch(() => ({}))) as { detail?: unknown };
  throw new Refused(response.status, said.detail);
}

/** Reads server-sent events over as many bodies as it takes. */
class EventReader {
  /** The id of the last object. */
  last: string | undefined;
  hasEnded = false;

  constructor(private readonly take: (chunk: Chunk) => void) {}

  async read(response: Response): Promise<void> {
    const reader = response.body?.getReader();
    if (!reader) return;
    const decoder = new TextDecoder();
    let held = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      held += decoder.decode(value, { stream: true });
      // What is cut off comes again, whole.
      const blocks = held.split("\n\n");
      held = blocks.pop() ?? "";
      for (const block of blocks) this.event(block);
    }
  }

  private event(block: string): void {
    const lines = block.split("\n");
    const field = (name: string) => lines.find((line) => line.startsWith(name))?.slice(name.length);
    if (field("event: ") === "end") {
      this.hasEnded = true;
      return;
    }
    for (const chunk of new Splitter().push(field("data: ") ?? "")) this.take(chunk);
    this.last = field("id: ") ?? this.last;
  }
}
