//! The driver's requests: their purposes and their deadlines.

use longshore_model::id::PromptId;
use serde_json::{Value, json};

use crate::kit::{Call, Pending, PendingCall, Scribe};

/// How long Claude may take to answer a request.
const ANSWER_WITHIN_MS: i64 = 30_000;
/// How long Claude may take to start. It is a large program, and the machine may be busy.
const BEGIN_WITHIN_MS: i64 = 60_000;
/// The prefix of our request ids; a number follows.
const PREFIX: &str = "longshore-";

/// The purpose of a request, which gives its answer a meaning.
#[derive(Debug)]
pub(super) enum ClaudeCall {
    /// `initialize`.
    Greet,
    /// `get_binary_version`.
    Version,
    /// `interrupt`, and `stop_task` for a sub-agent.
    Interrupt,
    /// `set_permission_mode`, `set_model`.
    Set,
    /// `apply_flag_settings`: settings that override the person's settings.
    Settle,
    /// `cancel_async_message`: takes back a prompt that Claude has not taken yet.
    TakeBack { prompt: PromptId, text: String },
}

impl Call for ClaudeCall {
    fn within_ms(&self) -> Option<i64> {
        Some(match self {
            ClaudeCall::Greet => BEGIN_WITHIN_MS,
            ClaudeCall::Version
            | ClaudeCall::Interrupt
            | ClaudeCall::Set
            | ClaudeCall::Settle
            | ClaudeCall::TakeBack { .. } => ANSWER_WITHIN_MS,
        })
    }
}

impl Pending<ClaudeCall> {
    /// Sends a request.
    pub(super) fn send(
        &mut self,
        subtype: &'static str,
        mut request: Value,
        call: ClaudeCall,
        scribe: &mut Scribe<'_>,
    ) {
        request["subtype"] = json!(subtype);
        let id = format!("{PREFIX}{}", self.add(subtype, call, scribe.cx.now));
        let line = json!({"type": "control_request", "request_id": id, "request": request});
        scribe.out.lines.push(line.to_string());
    }

    /// The request to which an answer belongs.
    pub(super) fn answered(&mut self, id: &str) -> Option<PendingCall<ClaudeCall>> {
        self.take(id.strip_prefix(PREFIX)?.parse().ok()?)
    }
}
