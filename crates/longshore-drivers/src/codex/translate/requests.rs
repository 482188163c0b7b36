//! What codex asks us: every request is answered, now or when a person has decided.
//!
//! A request that nobody understands is answered with an error, which is safe: codex does not do what it asked for.

use std::collections::HashMap;

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{ApprovalId, Context, QuestionId, SessionId, TurnId};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Codex, WireError};
use crate::codex::wire::{Place, Resolved, RpcId, ToolAsked};

/// What JSON-RPC calls a method that is not there.
const METHOD_NOT_FOUND: i64 = -32601;
/// What JSON-RPC calls parameters that make no sense.
const INVALID_PARAMS: i64 = -32602;

/// The requests of theirs that wait for a person.
#[derive(Debug, Default)]
pub(super) struct CodexRequests {
    /// By their id, which lives in a space of its own and often equals one of ours.
    open: HashMap<RpcId, CodexRequest>,
    approvals: HashMap<ApprovalId, Way>,
    questions: HashMap<QuestionId, RpcId>,
}

/// A request that waits for a person.
#[derive(Debug)]
pub(super) struct CodexRequest {
    /// Where it was asked, in their names.
    pub thread: String,
    pub turn: String,
    /// Where it was asked, in ours.
    pub session: SessionId,
    pub turn_name: Option<TurnId>,
    pub what: CodexRequestKind,
}

/// What a request is about, and so what its answer looks like.
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

/// How the answer to an approval finds its way.
#[derive(Debug)]
pub(super) enum Way {
    /// As the answer to their request.
    Answer(RpcId),
    /// As a request of ours that names the item, for codex of old.
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

    /// Nobody answers any more what earlier turns of a thread asked.
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
    /// Codex asks, and waits.
    pub(super) fn requested(
        &mut self,
        id: &RpcId,
        method: &str,
        params: Option<&RawValue>,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        if self.requests.open.contains_key(id) {
            // Codex repeats what is still open to whoever joins.
            return Ok(());
        }
        let nothing = RawValue::NULL;
        let params = params.unwrap_or(nothing);
        self.adopt_stranger(method, params, cx, out);
        let place = serde_json::from_str::<Place<'_>>(params.get()).unwrap_or_default();
        let (session, turn_name) = self.place(&place);
        let Some(session) = session.or_else(|| self.nearest()) else {
            refuse(id, METHOD_NOT_FOUND, "nobody is here to answer", out);
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
            | "applyPatchApproval" => self.approval_requested(id, method, params, asker, raw, cx, out),
            "item/tool/requestUserInput" => self.asks_user(id, params, asker, raw, cx, out),
            "mcpServer/elicitation/request" => self.elicits(id, params, asker, raw, cx, out),
            "item/tool/call" => {
                let tool = serde_json::from_str::<ToolAsked>(params.get()).unwrap_or_default().tool;
                let text = format!("Longshore has no tool called {tool}.");
                let content = json!([{"type": "inputText", "text": text}]);
                reply(id, json!({"contentItems": content, "success": false}), out);
                return Ok(());
            }
            _ => {
                refuse(id, METHOD_NOT_FOUND, &format!("longshore does not answer {method}"), out);
                return Ok(());
            }
        };
        if let Err(error) = &understood {
            refuse(id, INVALID_PARAMS, &format!("longshore does not understand this: {error}"), out);
        }
        understood
    }

    /// A request of theirs is closed: by an answer of ours, or since nobody can answer any more.
    pub(super) fn resolved(
        &mut self,
        params: &RawValue,
        raw: &Raw,
        out: &mut Output,
    ) -> Result<(), WireError> {
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
        let draft = Draft::new(body).turn(request.turn_name).raw(raw.clone());
        out.say(request.session, draft.text("Codex no longer waits for an answer."));
        Ok(())
    }
}

/// Who asks.
#[derive(Debug)]
pub(super) struct Asker {
    /// In their names.
    pub thread: String,
    pub turn: String,
    /// In ours.
    pub session: SessionId,
    pub turn_name: Option<TurnId>,
}

impl Asker {
    pub(super) fn request(self, what: CodexRequestKind) -> CodexRequest {
        let Self { thread, turn, session, turn_name } = self;
        CodexRequest { thread, turn, session, turn_name, what }
    }
}

/// Answers a request of theirs.
pub(super) fn reply(id: &RpcId, result: Value, out: &mut Output) {
    out.lines.push(json!({"id": id, "result": result}).to_string());
}

/// Answers that it will not be done.
fn refuse(id: &RpcId, code: i64, message: &str, out: &mut Output) {
    out.lines.push(json!({"id": id, "error": {"code": code, "message": message}}).to_string());
}
