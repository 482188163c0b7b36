//! The JSON of the protocol, with its own names.
//!
//! ```text
//!   POST /api/v1/conversations                          {agent_ids, project_ids, title} -> {message, conversation_id}
//!   GET  .../{id}/active-session                        404 while nothing runs: only then the client sends
//!   POST .../{id}/message?stream=true&session_id=S      a form, or JSON with /api/v2
//!        <- objects {message, citations, tool_calls, thinking}, one after the other; the end of the body is the end
//!   POST .../{id}/resume/S                              the same objects again from the first on, and then the live ones
//!   POST .../{id}/stop
//!   GET  .../{id}/messages?start=0&limit=1000           [MessageResponse]
//! ```
//!
//! The client appends `message` and `thinking`, replaces `citations`, and replaces the entries of `tool_calls` by
//! `call_id`. It throws an object away whose `message` or `tool_calls` is null, so neither ever is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One object of a stream, and the whole answer of a request without a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ChatMessageResponse {
    /// The next piece of the answer; empty, never null.
    pub(crate) message: String,
    /// The files that the turn has read or changed so far: all of them, because the client replaces its list.
    pub(crate) citations: Arc<Vec<String>>,
    pub(crate) tool_calls: Vec<ToolCallResponse>,
    /// The next piece of the agent's thoughts.
    pub(crate) thinking: Option<String>,
}

impl ChatMessageResponse {
    /// Adds the next object if both only add text; gives it back otherwise.
    pub(super) fn join(&mut self, next: Self) -> Option<Self> {
        let only_text = self.tool_calls.is_empty() && next.tool_calls.is_empty();
        // An object that says nothing is the first sign that the message has come: it goes out by itself.
        let says_nothing = self.message.is_empty() && self.thinking.is_none();
        if !only_text || says_nothing {
            return Some(next);
        }
        self.append(next);
        None
    }

    /// Adds the next object, of whose calls only what they are in the end counts.
    pub(super) fn settle(&mut self, mut next: Self) {
        for call in std::mem::take(&mut next.tool_calls) {
            match self.tool_calls.iter_mut().find(|known| known.call_id == call.call_id) {
                Some(known) if call.is_complete => *known = call,
                Some(_) => {}
                None => self.tool_calls.push(call),
            }
        }
        self.append(next);
    }

    fn append(&mut self, next: Self) {
        self.message.push_str(&next.message);
        self.citations = next.citations;
        if let Some(thought) = next.thinking {
            self.thinking.get_or_insert_default().push_str(&thought);
        }
    }
}

/// What happened to a tool call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolCallResponse {
    pub(crate) call_id: String,
    pub(crate) event_type: ToolEvent,
    pub(crate) tool_name: String,
    /// One line for people.
    pub(crate) tool_response: String,
    pub(crate) tool_call_details: ToolCallDetails,
    /// The next piece of the output of a call that runs.
    pub(crate) stream_part: Option<String>,
    /// Whether this is no piece.
    pub(crate) is_complete: bool,
    /// Whether the result is cut.
    pub(crate) is_truncated: bool,
    /// The characters of the whole result, if it is cut.
    pub(crate) original_length: Option<usize>,
}

/// Clients end a call at `result`, `delegation_result` and `error`, and at nothing else.
///
/// The protocol also has `tool_call_request_delta`, for a model that still writes the arguments. Clients append such
/// pieces again and again, so the hub sends the whole `call` instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolEvent {
    Call,
    Result,
    DelegationCall,
    DelegationResult,
    Error,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ToolCallDetails {
    /// Markdown.
    pub(crate) summary: String,
    /// The output itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(crate) arguments: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
}

/// A message of the history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct MessageResponse {
    pub(crate) id: String,
    pub(crate) conversation_id: String,
    pub(crate) content: String,
    pub(crate) sender_id: Option<String>,
    #[serde(rename = "type")]
    pub(crate) kind: MessageType,
    pub(crate) reason: Option<String>,
    pub(crate) created_at: String,
    pub(crate) status: &'static str,
    pub(crate) citations: Arc<Vec<String>>,
    pub(crate) has_attachments: bool,
    pub(crate) attachments: Vec<AttachmentInfo>,
    pub(crate) tool_calls: Vec<ToolCallResponse>,
    pub(crate) thinking: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum MessageType {
    Human,
    AiGenerated,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct AttachmentInfo {
    pub(crate) id: String,
    pub(crate) attachment_type: &'static str,
    pub(crate) file_name: String,
    pub(crate) mime_type: String,
    pub(crate) file_size: usize,
}

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct ConversationInfoResponse {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) status: &'static str,
    pub(crate) project_ids: Vec<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    pub(crate) total_messages: usize,
    pub(crate) agent_ids: Vec<String>,
    pub(crate) access_type: &'static str,
    pub(crate) is_creator: bool,
    pub(crate) creator_id: &'static str,
    pub(crate) visibility: &'static str,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ActiveSession {
    pub(crate) session_id: String,
    pub(crate) status: &'static str,
    /// Always from the first object on: the page has nothing to which it could append the rest.
    pub(crate) cursor: &'static str,
    pub(crate) conversation_id: String,
    pub(crate) started_at: i64,
    pub(crate) last_activity: i64,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskStatus {
    pub(crate) is_active: bool,
    pub(crate) session_id: Option<String>,
    pub(crate) estimated_completion: Option<i64>,
    pub(crate) conversation_id: String,
}

/// A new conversation. Members that mean nothing here are left out: `user_id`, `status`, `repo_name`, `branch_name`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CreateConversation {
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) project_ids: Vec<String>,
    #[serde(default)]
    pub(super) agent_ids: Vec<String>,
}

/// A message in JSON. In a form, the members are fields.
#[derive(Debug, Default, Deserialize)]
pub(super) struct MessageRequest {
    #[serde(default)]
    pub(super) content: String,
    #[serde(default)]
    pub(super) node_ids: Option<Vec<NodeContext>>,
    #[serde(default)]
    pub(super) attachment_ids: Option<Vec<String>>,
    /// Only for a message that also opens its conversation.
    #[serde(default)]
    pub(super) agent_id: Option<String>,
}

/// A part of the code that the message is about.
#[derive(Debug, Deserialize)]
pub(super) struct NodeContext {
    #[serde(default)]
    pub(super) name: String,
}

/// How the answer comes. Unknown members of the query mean nothing here.
#[derive(Debug, Deserialize)]
pub(super) struct MessageQuery {
    #[serde(default = "yes")]
    pub(super) stream: bool,
    #[serde(default)]
    pub(super) session_id: Option<String>,
    #[serde(default)]
    pub(super) cursor: Option<String>,
    #[serde(default)]
    pub(super) format: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PageQuery {
    #[serde(default)]
    pub(super) start: usize,
    #[serde(default = "page")]
    pub(super) limit: usize,
}

#[derive(Debug, Deserialize)]
pub(super) struct StopQuery {
    #[serde(default)]
    pub(super) session_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RenameRequest {
    pub(super) title: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct AgentRequest {
    pub(super) agent_id: String,
}

fn yes() -> bool {
    true
}

fn page() -> usize {
    10
}
