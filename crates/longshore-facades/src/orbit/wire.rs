//! The wire of Codex Pocket: the messages of its web UI and of its server, with their names.
//!
//! ```text
//! client                                       server
//!   GET /ws?token=..&clientId=..            ->   {"type":"orbit.hello"}, {"type":"orbit.anchor-auth"}
//!   {"type":"orbit.subscribe","threadId"}   ->   notifications of that thread, first of what stands open
//!   {"id":1,"method":"thread/read",..}      ->   {"id":1,"result":{"thread":{..}}}, and what stands open once more
//!   {"id":2,"method":"turn/start",..}       ->   {"id":2,"result":{"turn":{..}}}
//!                                           <-   turn/started, item/started, item/agentMessage/delta, item/completed
//!                                           <-   {"id":"approval-..","method":"item/commandExecution/requestApproval"}
//!   {"id":"approval-..","result":{..}}      ->
//!                                           <-   turn/completed
//!   {"type":"ping"}                         ->   {"type":"pong"}
//! ```
//!
//! Requests, responses and notifications are those of JSON-RPC without the member `jsonrpc`.

use std::borrow::Cow;

use longshore_model::id::{SessionId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A notification, or with an id a request.
#[derive(Debug, Serialize)]
pub(super) struct ServerFrame<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) method: &'static str,
    pub(super) params: Params<'a>,
}

impl<'a> ServerFrame<'a> {
    pub(super) fn notification(method: &'static str, params: Params<'a>) -> Self {
        Self { id: None, method, params }
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The parameters of notifications and requests of the server.
#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(super) enum Params<'a> {
    Turn {
        thread_id: SessionId,
        turn_id: TurnId,
        status: &'static str,
        turn: Turn<'a>,
    },
    Item {
        thread_id: SessionId,
        turn_id: Option<TurnId>,
        item: ThreadItem<'a>,
    },
    Delta {
        thread_id: SessionId,
        turn_id: Option<TurnId>,
        item_id: String,
        delta: &'a str,
    },
    Progress {
        thread_id: SessionId,
        turn_id: Option<TurnId>,
        item_id: String,
        message: &'a str,
    },
    Plan {
        thread_id: SessionId,
        turn_id: Option<TurnId>,
        explanation: Option<&'a str>,
        plan: Vec<PlanStep<'a>>,
    },
    Diff {
        thread_id: SessionId,
        turn_id: TurnId,
        diff: Cow<'a, str>,
    },
    Approval {
        thread_id: SessionId,
        turn_id: Option<TurnId>,
        item_id: String,
        reason: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        command: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<&'a str>,
        available_decisions: Vec<&'static str>,
    },
    Question {
        thread_id: SessionId,
        turn_id: Option<TurnId>,
        item_id: String,
        questions: Vec<Question<'a>>,
    },
}

/// A turn. The UI reads id, status and items.
#[derive(Debug, Serialize)]
pub(super) struct Turn<'a> {
    pub(super) id: String,
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<TurnFault<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) items: Vec<ThreadItem<'a>>,
}

/// Why a turn failed.
#[derive(Debug, Serialize)]
pub(super) struct TurnFault<'a> {
    pub(super) message: &'a str,
}

/// An item of a thread.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum ThreadItem<'a> {
    UserMessage {
        id: String,
        content: Vec<InputPart<'a>>,
    },
    AgentMessage {
        id: String,
        text: Cow<'a, str>,
    },
    Reasoning {
        id: String,
        summary: [&'a str; 1],
        content: [&'a str; 0],
    },
    Plan {
        id: String,
        text: &'a str,
    },
    CommandExecution {
        id: String,
        command: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<&'a str>,
        status: &'static str,
        aggregated_output: &'a str,
        exit_code: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    FileChange {
        id: String,
        status: &'static str,
        changes: Vec<ChangedFile<'a>>,
    },
    McpToolCall {
        id: String,
        tool: String,
        status: &'static str,
        arguments: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Value>,
    },
    WebSearch {
        id: String,
        query: &'a str,
    },
    ImageView {
        id: String,
        path: &'a str,
    },
    CollabAgentToolCall {
        id: String,
        tool: &'static str,
        receiver_thread_ids: [SessionId; 1],
        prompt: &'a str,
        status: &'static str,
    },
}

/// A part of a prompt.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum InputPart<'a> {
    Text {
        text: &'a str,
    },
    Image {
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<&'a str>,
        mime: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<&'a str>,
    },
}

/// A file and its change.
#[derive(Debug, Serialize)]
pub(super) struct ChangedFile<'a> {
    pub(super) path: &'a str,
    pub(super) kind: &'static str,
    pub(super) diff: &'a str,
}

/// A step of a plan. The UI compares the status letter by letter.
#[derive(Debug, Serialize)]
pub(super) struct PlanStep<'a> {
    pub(super) step: &'a str,
    pub(super) status: &'static str,
}

/// A question of an agent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Question<'a> {
    pub(super) id: &'a str,
    pub(super) header: &'a str,
    pub(super) question: &'a str,
    pub(super) is_other: bool,
    pub(super) is_secret: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) options: Vec<QuestionOption<'a>>,
}

/// A choice of a question.
#[derive(Debug, Serialize)]
pub(super) struct QuestionOption<'a> {
    pub(super) label: &'a str,
    pub(super) description: &'a str,
}

/// A row of the list of threads. Times are seconds; the status is a word.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread<'a> {
    pub(super) id: SessionId,
    pub(super) title: &'a str,
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preview: Option<&'a str>,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) status: &'static str,
    pub(super) provider: &'static str,
    pub(super) model_provider: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
    pub(super) archived: bool,
    pub(super) cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) git_info: Option<GitInfo<'a>>,
    pub(super) capabilities: ThreadCapabilities,
    /// Left out rather than empty: with an empty list the UI takes the thread for loaded and shows nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) turns: Vec<Turn<'a>>,
}

/// The git state of a thread.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GitInfo<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) origin_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) branch: Option<&'a str>,
}

/// What the UI offers for a thread.
#[derive(Debug, Serialize)]
pub(super) struct ThreadCapabilities {
    #[serde(rename = "CAN_ATTACH_FILES")]
    pub(super) attach: bool,
    #[serde(rename = "CAN_FILTER_HISTORY")]
    pub(super) filter: bool,
    #[serde(rename = "SUPPORTS_APPROVALS")]
    pub(super) approvals: bool,
    #[serde(rename = "SUPPORTS_STREAMING")]
    pub(super) streaming: bool,
    #[serde(rename = "sendPrompt")]
    pub(super) prompt: bool,
}

/// A message of the client, as far as every kind has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ClientFrame {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    pub(super) params: Option<Value>,
    pub(super) result: Option<Value>,
    pub(super) error: Option<Value>,
    pub(super) client_request_id: Option<String>,
    pub(super) thread_id: Option<SessionId>,
    pub(super) endpoint: Option<String>,
    pub(super) p256dh: Option<String>,
    pub(super) auth: Option<String>,
    pub(super) rpc_id: Option<String>,
    pub(super) option_id: Option<String>,
}

/// Which threads to list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ThreadListParams {
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<usize>,
    pub(super) archived: Option<bool>,
}

/// A thread, and whether to read its turns.
#[derive(Debug, Deserialize)]
pub(super) struct ThreadReadParams {
    #[serde(rename = "threadId", alias = "thread_id")]
    pub(super) thread: SessionId,
    #[serde(default, rename = "includeTurns")]
    pub(super) turns: bool,
    #[serde(default, rename = "include_turns")]
    pub(super) turns_too: bool,
}

/// A thread to start.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ThreadStartParams {
    pub(super) cwd: String,
    pub(super) approval_policy: Option<String>,
    pub(super) sandbox: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
}

/// A prompt with the settings of its turn.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnStartParams {
    #[serde(alias = "thread_id")]
    pub(super) thread_id: SessionId,
    pub(super) input: Vec<PromptInput>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) effort: Option<String>,
    #[serde(default)]
    pub(super) sandbox_policy: Option<SandboxPolicy>,
    #[serde(default)]
    pub(super) collaboration_mode: Option<CollaborationMode>,
}

/// A part of a prompt as clients send it.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum PromptInput {
    Text {
        text: String,
    },
    #[serde(alias = "localImage")]
    Image(PromptImage),
}

/// A picture of a prompt: the path and the address are those of its upload.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PromptImage {
    #[serde(alias = "localPath")]
    pub(super) path: Option<String>,
    #[serde(alias = "viewUrl")]
    pub(super) url: Option<String>,
    pub(super) mime: Option<String>,
    pub(super) filename: Option<String>,
}

/// What a turn may write to.
#[derive(Debug, Deserialize)]
pub(super) struct SandboxPolicy {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

/// Whether a turn plans or works.
#[derive(Debug, Deserialize)]
pub(super) struct CollaborationMode {
    pub(super) mode: String,
}

/// A prompt of a thread whose provider is Copilot.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SendPromptParams {
    pub(super) thread_id: SessionId,
    pub(super) message: String,
    #[serde(default)]
    pub(super) attachments: Vec<PromptImage>,
}

/// A turn to stop.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InterruptParams {
    #[serde(alias = "thread_id")]
    pub(super) thread_id: SessionId,
    #[serde(default, alias = "turn_id")]
    pub(super) turn_id: Option<TurnId>,
}

/// A thread.
#[derive(Debug, Deserialize)]
pub(super) struct OfThread {
    #[serde(rename = "threadId", alias = "thread_id")]
    pub(super) thread: SessionId,
}

/// A folder to list; empty for the folder where people begin.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListDirsParams {
    pub(super) path: String,
}
