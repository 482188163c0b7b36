//! Requests of Codex. The driver answers every request, now or after a person's decision.
//!
//! The driver answers an unknown request with an error. This is safe: Codex then does not do what it asked
//! for.

use std::collections::HashMap;

use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, QuestionId, SessionId, TurnId};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Codex, WireError};
use crate::codex::wire::{Place, Resolved, RpcId, ToolAsked};
use crate::kit::Scribe;

/// JSON-RPC's code for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC's code for invalid parameters.
const INVALID_PARAMS: i64 = -32602;

/// Codex's requests that wait for a person.
#[derive(Debug, Default)]
pub(super) struct CodexRequests {
    /// The requests by their ids. Codex numbers its requests independently, so an id often equals an id of
    /// ours.
    open: HashMap<RpcId, CodexRequest>,
    approvals: HashMap<ApprovalId, Way>,
    questions: HashMap<QuestionId, RpcId>,
}

/// A request that waits for a person.
#[derive(Debug)]
pub(super) struct CodexRequest {
    /// Codex's id of the thread.
    pub thread: String,
    pub turn: String,
    /// Our session.
    pub session: SessionId,
    pub turn_name: Option<TurnId>,
    pub what: CodexRequestKind,
}

/// The kind of a request, which determines the form of its answer.
#[derive(Debug)]
pub(super) enum CodexRequestKind {
    Command { approval: ApprovalId, amendment: Option<Vec<String>> },
    Edit { approval: ApprovalId },
    Permissions { approval: ApprovalId, permissions: Value },
    McpTool { approval: ApprovalId },
    OldCommand { approval: ApprovalId },
    OldEdit { approval: ApprovalId },
    UserInput { question: QuestionId },
    Form { question: QuestionId },
}

/// How the answer to an approval is sent.
#[derive(Debug)]
pub(super) enum Way {
    /// As the response to Codex's request.
    Answer(RpcId),
    /// As a request of ours that names the item, for an old Codex.
    Item { session: SessionId, thread: String, turn: String, item: String },
}

impl CodexRequests {
    pub(super) fn add(&mut self, id: RpcId, request: CodexRequest) {
        match &request.what {
            CodexRequestKind::Command { approval, .. }
            | CodexRequestKind::Edit { approval }
            | CodexRequestKind::Permissions { approval, .. }
            | CodexRequestKind::McpTool { approval }
            | CodexRequestKind::OldCommand { approval }
            | CodexRequestKind::OldEdit { approval } => {
                self.approvals.insert(*approval, Way::Answer(id.clone()));
            }
            CodexRequestKind::UserInput { question } | CodexRequestKind::Form { question } => {
                self.questions.insert(*question, id.clone());
            }
        }
        self.open.insert(id, request);
    }

    pub(super) fn add_by_item(&mut self, approval: ApprovalId, way: Way) {
        self.approvals.insert(approval, way);
    }

    pub(super) fn approval(&mut self, approval: ApprovalId) -> Option<Way> {
        self.approvals.remove(&approval)
    }

    pub(super) fn question(&mut self, question: QuestionId) -> Option<RpcId> {
        self.questions.remove(&question)
    }

    pub(super) fn take(&mut self, id: &RpcId) -> Option<CodexRequest> {
        self.open.remove(id)
    }

    /// Forgets the requests of earlier turns of a thread.
    pub(super) fn forget_before(&mut self, thread: &str, turn: &str) {
        self.open.retain(|_, request| request.thread != thread || request.turn == turn);
        let Self { open, approvals, questions } = self;
        approvals.retain(|_, way| match way {
            Way::Answer(id) => open.contains_key(id),
            Way::Item { thread: of, turn: in_turn, .. } => of != thread || in_turn == turn,
        });
        questions.retain(|_, id| open.contains_key(id));
    }
}

impl Codex {
    /// Handles a request of Codex.
    pub(super) fn requested(
        &mut self,
        id: &RpcId,
        method: &str,
        params: Option<&RawValue>,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        if self.requests.open.contains_key(id) {
            // Codex repeats open requests for every client that joins.
            return Ok(());
        }
        let nothing = RawValue::NULL;
        let params = params.unwrap_or(nothing);
        self.adopt_stranger(method, params, scribe);
        let place = serde_json::from_str::<Place<'_>>(params.get()).unwrap_or_default();
        let (session, turn_name) = self.place(&place);
        let Some(session) = session.or_else(|| self.nearest()) else {
            refuse(id, METHOD_NOT_FOUND, "nobody is here to answer", scribe);
            return Ok(());
        };
        let thread = if place.thread_id.is_empty() { place.conversation_id } else { place.thread_id };
        let asker =
            Asker { thread: thread.into_owned(), turn: place.turn_id.into_owned(), session, turn_name };
        let understood = match method {
            "item/commandExecution/requestApproval"
            | "item/fileChange/requestApproval"
            | "item/permissions/requestApproval"
            | "execCommandApproval"
            | "applyPatchApproval" => self.approval_requested(id, method, params, asker, scribe),
            "item/tool/requestUserInput" => self.asks_user(id, params, asker, scribe),
            "mcpServer/elicitation/request" => self.elicits(id, params, asker, scribe),
            "item/tool/call" => {
                let tool = serde_json::from_str::<ToolAsked>(params.get()).unwrap_or_default().tool;
                let text = format!("Longshore has no tool called {tool}.");
                let content = json!([{"type": "inputText", "text": text}]);
                reply(id, json!({"contentItems": content, "success": false}), scribe);
                return Ok(());
            }
            _ => {
                refuse(id, METHOD_NOT_FOUND, &format!("longshore does not answer {method}"), scribe);
                return Ok(());
            }
        };
        if let Err(error) = &understood {
            refuse(id, INVALID_PARAMS, &format!("longshore does not understand this: {error}"), scribe);
        }
        understood
    }

    /// Codex closes a request: because we answered, or because nobody can answer any longer.
    pub(super) fn resolved(&mut self, params: &RawValue, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let Resolved { request_id } = serde_json::from_str(params.get())?;
        let Some(request) = self.requests.take(&request_id) else { return Ok(()) };
        let body = match request.what {
            CodexRequestKind::Command { approval, .. }
            | CodexRequestKind::Edit { approval }
            | CodexRequestKind::Permissions { approval, .. }
            | CodexRequestKind::McpTool { approval }
            | CodexRequestKind::OldCommand { approval }
            | CodexRequestKind::OldEdit { approval } => {
                self.requests.approvals.remove(&approval);
                Body::ApprovalExpired { approval }
            }
            CodexRequestKind::UserInput { question } | CodexRequestKind::Form { question } => {
                self.requests.questions.remove(&question);
                Body::QuestionExpired { question }
            }
        };
        let draft = Draft::new(body).turn(request.turn_name);
        scribe.quote(request.session, draft.text("Codex no longer waits for an answer."));
        Ok(())
    }
}

/// The asker.
#[derive(Debug)]
pub(super) struct Asker {
    /// Codex's id of the thread.
    pub thread: String,
    pub turn: String,
    /// Our session.
    pub session: SessionId,
    pub turn_name: Option<TurnId>,
}

impl Asker {
    pub(super) fn request(self, what: CodexRequestKind) -> CodexRequest {
        let Self { thread, turn, session, turn_name } = self;
        CodexRequest { thread, turn, session, turn_name, what }
    }
}

/// Answers a request of Codex.
pub(super) fn reply(id: &RpcId, result: Value, scribe: &mut Scribe<'_>) {
    scribe.out.lines.push(json!({"id": id, "result": result}).to_string());
}

/// Answers a request of Codex with an error.
fn refuse(id: &RpcId, code: i64, message: &str, scribe: &mut Scribe<'_>) {
    scribe.out.lines.push(json!({"id": id, "error": {"code": code, "message": message}}).to_string());
}
