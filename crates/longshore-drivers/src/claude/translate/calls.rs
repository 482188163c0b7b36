//! Requests of ours: their names, what each was for, and how long its answer may take.

use std::collections::BTreeMap;

use longshore_model::driver::Output;
use longshore_model::id::{Context, PromptId};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

/// How long it may take to acknowledge a request.
pub(super) const ANSWER_WITHIN_MS: i64 = 30_000;
/// How long it may take to begin: it is a big program, and the machine may be busy.
pub(super) const BEGIN_WITHIN_MS: i64 = 60_000;
/// How the names of our requests begin; the rest is a number.
const PREFIX: &str = "longshore-";

/// What a request was for, and so what its answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClaudeCall {
    /// `initialize`.
    Greet,
    /// `get_binary_version`.
    Version,
    /// `interrupt`, and `stop_task` for a sub-agent.
    Interrupt,
    /// `set_permission_mode`, `set_model`.
    Set,
    /// `apply_flag_settings`: settings above those of the person.
    Settle,
    /// `cancel_async_message`: takes back what was said and not taken yet.
    TakeBack { prompt: PromptId, text: String },
}

/// A request that has no answer yet.
#[derive(Debug)]
pub(super) struct PendingClaudeCall {
    pub subtype: &'static str,
    pub call: ClaudeCall,
    pub within_ms: i64,
    due: Timestamp,
}

/// All requests that have no answer yet.
#[derive(Debug, Default)]
pub(super) struct ClaudeCalls {
    last: u64,
    pending: BTreeMap<u64, PendingClaudeCall>,
}

impl ClaudeCalls {
    /// Writes a request.
    pub(super) fn send(
        &mut self,
        subtype: &'static str,
        mut request: Value,
        call: ClaudeCall,
        cx: &Context<'_>,
        out: &mut Output,
    ) {
        self.last += 1;
        let within_ms = if call == ClaudeCall::Greet { BEGIN_WITHIN_MS } else { ANSWER_WITHIN_MS };
        let due = cx.now.plus_millis(within_ms);
        self.pending.insert(self.last, PendingClaudeCall { subtype, call, within_ms, due });
        request["subtype"] = json!(subtype);
        let id = format!("{PREFIX}{}", self.last);
        out.lines.push(json!({"type": "control_request", "request_id": id, "request": request}).to_string());
    }

    /// The request that an answer is to.
    pub(super) fn answered(&mut self, id: &str) -> Option<PendingClaudeCall> {
        self.pending.remove(&id.strip_prefix(PREFIX)?.parse().ok()?)
    }

    /// A request whose answer is overdue.
    pub(super) fn overdue(&mut self, now: Timestamp) -> Option<PendingClaudeCall> {
        let late = *self.pending.iter().find(|(_, pending)| pending.due <= now)?.0;
        self.pending.remove(&late)
    }

    /// When the next answer is due.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.pending.values().map(|pending| pending.due).min()
    }
}
