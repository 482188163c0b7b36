// An answer as far as its objects have come: text and thoughts grow, citations are replaced, calls of tools are known by
// their id and go from `call` over pieces of their output to `result`.
import type { Chunk, ToolCallResponse, ToolEvent } from "./wire.ts";

export type ToolCallState = {
  call_id: string;
  event_type: ToolEvent;
  tool_name: string;
  tool_response: string;
  summary: string;
  content: string | undefined;
  arguments: Record<string, unknown> | undefined;
  /** The pieces of the output so far. The result takes their place. */
  accumulated_stream: string;
  is_complete: boolean;
  is_streaming: boolean;
  is_error: boolean;
  is_truncated: boolean;
  original_length: number | undefined;
};

const ENDS: readonly ToolEvent[] = ["result", "delegation_result", "error"];

export class Answer {
  message = "";
  thinking = "";
  citations: string[] = [];
  /** In the order in which the calls began. */
  readonly calls = new Map<string, ToolCallState>();

  apply(chunk: Chunk): void {
    this.message += chunk.message ?? chunk.response ?? "";
    this.thinking += chunk.thinking ?? "";
    if (chunk.citations) this.citations = chunk.citations;
    for (const call of chunk.tool_calls ?? []) this.call(call);
  }

  /** The calls that have not ended. */
  get running(): ToolCallState[] {
    return [...this.calls.values()].filter((call) => !call.is_complete);
  }

  private call(call: ToolCallResponse): void {
    if (!call.call_id || !call.tool_name) return;
    const known = this.calls.get(call.call_id);
    const ends = ENDS.includes(call.event_type);
    const part = call.stream_part ?? undefined;
    const details = call.tool_call_details;
    this.calls.set(call.call_id, {
      call_id: call.call_id,
      event_type: call.event_type,
      tool_name: call.tool_name,
      tool_response: call.tool_response || known?.tool_response || "",
      summary: details?.summary || known?.summary || "",
      content: details?.content ?? known?.content,
      arguments: details?.arguments ?? known?.arguments,
      accumulated_stream: part === undefined ? "" : (known?.accumulated_stream ?? "") + part,
      is_complete: ends && call.is_complete,
      is_streaming: part !== undefined && !call.is_complete,
      is_error: call.event_type === "error",
      is_truncated: call.is_truncated ?? false,
      original_length: call.original_length ?? undefined,
    });
  }
}
