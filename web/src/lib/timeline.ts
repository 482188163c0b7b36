// The timeline: the fold of events that a client draws. The Rust fold is its twin; both run the same vectors.
//
// Items are never changed in place: one that grows is replaced, so whoever draws sees by identity what is new.
// A timeline may begin with a page of folded items instead of the first event, and older pages may be put before it.
import type { Event, FileChange, TimelineItem, ToolCall, ToolStatus, TimelinePage } from "./contract.ts";

type Content = { kind: TimelineItem["kind"]; content?: unknown };
type Draft = TimelineItem & { content?: Record<string, unknown> };

/** What a thing is found by when something more is told of it. */
const key = {
  item: (id: string) => `item ${id}`,
  turnDiff: (turn: string) => `turn-diff ${turn}`,
  approval: (id: string) => `approval ${id}`,
  question: (id: string) => `question ${id}`,
};

/** The key of a folded item; none for things that are whole as they come. */
export function keyOf(item: TimelineItem): string | undefined {
  switch (item.kind) {
    case "message":
    case "reasoning":
    case "plan":
    case "tool":
    case "diff":
    case "delegation":
      return item.id ? key.item(item.id) : undefined;
    case "turn_diff":
      return item.turn ? key.turnDiff(item.turn) : undefined;
    case "approval":
      return key.approval(item.content.request.approval);
    case "question":
      return key.question(item.content.request.question);
    case "user_message":
    case "turn_end":
      return undefined;
    case "notice":
      // One that goes on is told anew under its name.
      return item.id ? key.item(item.id) : undefined;
  }
}

export class Timeline {
  /** The last event that was folded in. */
  head = 0;
  /** In the order in which they began. */
  items: TimelineItem[] = [];
  /** The `before` of the next older page; null when the beginning is here. */
  older: number | null = null;
  /** Something was told of a thing that began before what is here. */
  astray = false;
  /** Places count from where the first page began, so that older pages do not move them. */
  private places = new Map<string, number>();
  private first = 0;
  /** Up to where an item of an older page has been folded already. */
  private upTo = new Map<string, number>();
  private mending: Set<string> | undefined;

  /** Begins with the newest page. */
  static from(page: TimelinePage): Timeline {
    const timeline = new Timeline();
    timeline.head = page.head;
    timeline.items = [...page.items];
    timeline.older = page.next;
    page.items.forEach((item, at) => timeline.remember(item, at));
    return timeline;
  }

  static of(events: Iterable<Event>): Timeline {
    const timeline = new Timeline();
    for (const event of events) timeline.apply(event);
    return timeline;
  }

  /** Takes in one event. One that is known already changes nothing. */
  apply(event: Event): void {
    if (event.seq <= this.head) return;
    this.head = event.seq;
    this.fold(event);
  }

  /**
   * Puts an older page before what is here. Returns whether events between the page's head and ours may be missing
   * from its things; they are then asked for and given to `mend`.
   */
  prepend(page: TimelinePage): boolean {
    const behind = new Set<string>();
    for (const item of page.items) {
      const name = keyOf(item);
      if (name === undefined) continue;
      const stray = this.places.get(name);
      if (stray !== undefined) this.remove(stray);
      // Also what has ended may be told anew: a plan is.
      if (page.head < this.head) behind.add(name);
      else if (page.head > this.head) this.upTo.set(name, page.head);
    }
    this.items = [...page.items, ...this.items];
    this.first -= page.items.length;
    page.items.forEach((item, at) => this.remember(item, this.first + at));
    this.older = page.next;
    this.astray = false;
    this.mending = behind;
    return page.items.length > 0 && page.head < this.head;
  }

  /** Tells the things of the page that was put before of what they missed. */
  mend(events: Iterable<Event>): void {
    const behind = this.mending;
    if (!behind) return;
    for (const event of events) {
      // The end of delegated work is found by the session that did it, and telling it twice is telling it once.
      if (event.seq <= this.head && (behind.has(toldOf(event)) || event.type === "delegation_finished"))
        this.fold(event);
    }
  }

  private remember(item: TimelineItem, place: number): void {
    const name = keyOf(item);
    if (name !== undefined) this.places.set(name, place);
  }

  private remove(place: number): void {
    this.items = this.items.toSpliced(place - this.first, 1);
    for (const [name, at] of this.places) {
      if (at === place) this.places.delete(name);
      else if (at > place) this.places.set(name, at - 1);
    }
  }

  private fold(event: Event): void {
    switch (event.type) {
      case "user_message": {
        const { attachments, by } = event.payload ?? {};
        return this.push(event, {
          kind: "user_message",
          content: { ...(attachments?.length && { attachments }), ...(by && { by }) },
        });
      }
      case "message_started":
      case "message_delta":
        return this.grow(event, { kind: "message", content: {} });
      case "message_done": {
        const { phase, partial } = event.payload ?? {};
        return this.settle(event, {
          kind: "message",
          content: { ...(phase && { phase }), ...(partial && { partial }) },
        });
      }
      case "reasoning_started":
      case "reasoning_delta":
        return this.grow(event, { kind: "reasoning", content: {} });
      case "reasoning_done":
        return this.settle(event, { kind: "reasoning", content: event.payload?.partial ? { partial: true } : {} });
      case "plan_started":
      case "plan_delta":
        return this.grow(event, { kind: "plan", content: { steps: [] } });
      case "plan_updated":
        return this.settle(event, { kind: "plan", content: { steps: event.payload.steps } });

      case "tool_started":
      case "tool_updated":
        return this.tool(event, event.payload);
      case "tool_output_delta":
        return this.grow(event, unknownTool());
      case "tool_finished":
        return this.toolFinished(event);
      case "file_diff":
        return this.diff(event, event.payload.status, event.payload.changes);
      case "turn_diff":
        if (event.turn) this.upsert(key.turnDiff(event.turn), event, { kind: "turn_diff" });
        return;

      case "approval_requested":
        return this.upsert(key.approval(event.payload.approval), event, {
          kind: "approval",
          content: { request: event.payload },
        });
      case "approval_decided": {
        const { approval, ...decision } = event.payload;
        return this.answered(key.approval(approval), event, { decision });
      }
      case "approval_expired":
        return this.answered(key.approval(event.payload.approval), event, { expired: event.text ?? "" });
      case "question_asked":
        return this.upsert(key.question(event.payload.question), event, {
          kind: "question",
          content: { request: event.payload },
        });
      case "question_answered": {
        const { question, ...answer } = event.payload;
        return this.answered(key.question(question), event, { answer });
      }
      case "question_expired":
        return this.answered(key.question(event.payload.question), event, { expired: event.text ?? "" });

      case "delegation_started":
        return this.delegationStarted(event);
      case "delegation_finished":
        return this.delegationFinished(event);
      case "turn_finished":
        return this.push(event, { kind: "turn_end", content: event.payload });

      case "session_sleeping":
      case "session_revived":
      case "session_handed_off":
      case "queue_held":
      case "session_closed":
        return this.push(event, { kind: "notice", content: { level: "info" } });
      case "session_error":
        return this.push(event, { kind: "notice", content: { level: "error" } });
      case "notice": {
        const content: Content = { kind: "notice", content: { level: event.payload.level } };
        if (!event.item) return this.push(event, content);
        // One that goes on: each word of it takes the place of the one before.
        return this.entry(key.item(event.item), event, content, (item) => {
          say(item, event.text);
          Object.assign(item, content);
          item.endedAt = event.timestamp;
        });
      }

      default:
        // The rest is told by the session's row, and types that are newer than this page have nothing to draw.
        return;
    }
  }

  private begin(event: Event, content: Content): Draft {
    const item: Record<string, unknown> = { seq: event.seq, startedAt: event.timestamp, ...content };
    if (event.item) item["id"] = event.item;
    if (event.turn) item["turn"] = event.turn;
    return item as Draft;
  }

  /** A thing that is whole as it comes. */
  private push(event: Event, content: Content): void {
    const text = content.kind === "notice" ? (event.text ?? noticeText(event)) : event.text;
    this.items.push({ ...this.begin(event, content), endedAt: event.timestamp, ...(text && { text }) });
  }

  /** Changes the thing of that name, which begins now if it has not. */
  private entry(name: string, event: Event, fresh: Content, change: (item: Draft) => void): void {
    if ((this.upTo.get(name) ?? 0) >= event.seq) return;
    let place = this.places.get(name);
    if (place === undefined) {
      if (this.older !== null && follows(event)) this.astray = true;
      place = this.first + this.items.length;
      this.items.push(this.begin(event, fresh));
      this.places.set(name, place);
    }
    this.rewrite(place, change);
  }

  private rewrite(place: number, change: (item: Draft) => void): void {
    const at = place - this.first;
    const item = { ...this.items[at] } as Draft;
    change(item);
    this.items[at] = item;
  }

  /** A thing that begins or grows. One that has ended stays as it is: its last word was the whole of it. */
  private grow(event: Event, fresh: Content): void {
    if (!event.item) return;
    this.entry(key.item(event.item), event, fresh, (item) => {
      // The call of a delegation may end before the work; after that nothing grows until the result is there.
      const called = item.kind === "delegation" && item.content.outcome;
      if (!item.endedAt && !called) say(item, (item.text ?? "") + (event.text ?? ""));
    });
  }

  /** The final word about a thing. */
  private settle(event: Event, content: Content): void {
    if (!event.item) return this.push(event, content);
    this.entry(key.item(event.item), event, content, (item) => {
      say(item, event.text);
      Object.assign(item, content);
      item.endedAt = event.timestamp;
    });
  }

  /** A thing of which only the newest state counts. */
  private upsert(name: string, event: Event, content: Content): void {
    this.entry(name, event, content, (item) => {
      say(item, event.text);
      Object.assign(item, content);
    });
  }

  private answered(name: string, event: Event, more: Record<string, unknown>): void {
    const place = this.places.get(name);
    if (place === undefined) {
      if (this.older !== null) this.astray = true;
      return;
    }
    this.rewrite(place, (item) => {
      (item as { content: unknown }).content = { ...item.content, ...more };
      item.endedAt = event.timestamp;
    });
  }

  private tool(event: Event, call: ToolCall): void {
    if (!event.item) return;
    this.entry(key.item(event.item), event, { kind: "tool", content: { call } }, (item) => {
      if (item.kind === "tool" || item.kind === "delegation") item.content = { ...item.content, call };
    });
  }

  private toolFinished(event: Event & { type: "tool_finished" }): void {
    if (!event.item) return;
    this.entry(key.item(event.item), event, unknownTool(), (item) => {
      if (item.kind === "delegation") {
        item.content = { ...item.content, outcome: event.payload };
        // The result is the last word; what the call said of it stands in until then.
        if (!item.content.end || !item.text) say(item, event.text);
        return;
      }
      if (item.kind === "tool") item.content = { ...item.content, outcome: event.payload };
      say(item, event.text);
      item.endedAt = event.timestamp;
    });
  }

  /** A diff on a tool's item is what that tool changes; any other is a thing of its own. */
  private diff(event: Event, status: ToolStatus, changes: FileChange[]): void {
    if (!event.item) return;
    this.entry(key.item(event.item), event, { kind: "diff", content: { status, changes } }, (item) => {
      if (item.kind === "tool") {
        const { changes: _, ...rest } = item.content;
        item.content = changes.length ? { ...rest, changes } : rest;
      } else if (item.kind === "diff") {
        // A change that was cut short names no files; those that were known stay.
        item.content = { status, changes: changes.length ? changes : item.content.changes };
        if (status === "running") delete item.endedAt;
        else item.endedAt = event.timestamp;
      }
    });
  }

  /** A delegation on a tool's item takes its place: they are one thing. */
  private delegationStarted(event: Event & { type: "delegation_started" }): void {
    const begun = { delegation: event.payload, ...(event.text && { task: event.text }) };
    const fresh: Content = { kind: "delegation", content: begun };
    if (!event.item) {
      this.items.push(this.begin(event, fresh));
      return;
    }
    this.entry(key.item(event.item), event, fresh, (item) => {
      const { call, outcome } = item.kind === "tool" || item.kind === "delegation" ? item.content : {};
      Object.assign(item, {
        kind: "delegation",
        content: { ...begun, ...(call && { call }), ...(outcome && { outcome }) },
      });
      delete item.endedAt;
    });
  }

  private delegationFinished(event: Event & { type: "delegation_finished" }): void {
    const at = this.items.findLastIndex(
      (item) => item.kind === "delegation" && item.content.delegation.child === event.payload.child,
    );
    if (at < 0) {
      if (this.older !== null) this.astray = true;
      return;
    }
    this.rewrite(this.first + at, (item) => {
      (item as { content: unknown }).content = { ...item.content, end: event.payload };
      say(item, event.text);
      item.endedAt = event.timestamp;
    });
  }
}

/** An empty text is left out, as on the wire. */
function say(item: Draft, text: string | null | undefined): void {
  if (text) item.text = text;
  else delete item.text;
}

/** Whether such an event never is the first that is told of a thing. */
function follows(event: Event): boolean {
  return event.type === "tool_output_delta" || event.type === "tool_updated" || event.type === "tool_finished";
}

function toldOf(event: Event): string {
  switch (event.type) {
    case "approval_requested":
    case "approval_decided":
    case "approval_expired":
      return key.approval(event.payload.approval);
    case "question_asked":
    case "question_answered":
    case "question_expired":
      return key.question(event.payload.question);
    case "turn_diff":
      return key.turnDiff(event.turn ?? "");
    default:
      return key.item(event.item ?? "");
  }
}

function unknownTool(): Content {
  return { kind: "tool", content: { call: { name: "tool", kind: "other" } } };
}

function noticeText(event: Event): string {
  if (event.type === "session_revived") {
    return event.payload.fromLog ? "Resumed from Longshore's log" : "Resumed";
  }
  return event.type === "session_closed" ? "Ended" : "";
}
