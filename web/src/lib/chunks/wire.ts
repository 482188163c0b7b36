// The chunks protocol: one object of a stream, and what it says about calls of tools. See docs/chunks.md.
export type ToolEvent =
  "call" | "result" | "delegation_call" | "delegation_result" | "tool_call_request_delta" | "error";

export type ToolCallResponse = {
  call_id: string;
  event_type: ToolEvent;
  tool_name: string;
  /** One line for people. */
  tool_response: string;
  tool_call_details: {
    summary: string;
    content?: string;
    arguments?: Record<string, unknown>;
    command?: string;
  } | null;
  /** The next piece of the output, while the call runs. */
  stream_part?: string | null;
  is_complete: boolean;
  is_truncated?: boolean;
  original_length?: number | null;
};

/** Every member may be missing. The older documents of the protocol call the message `response`. */
export type Chunk = {
  message?: string;
  response?: string;
  citations?: string[];
  tool_calls?: ToolCallResponse[];
  thinking?: string | null;
};
