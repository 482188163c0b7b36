//! What the agent asks us: every request is answered, now or when somebody has decided.

use std::collections::HashMap;

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, Context, QuestionId, SessionId, TurnId};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Acp, WireError, native_in};
use crate::acp::wire::{
    CANCELLED, Elicitation, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, PermissionOption, RpcId,
    Withdrawn,
};

/// How many requests of theirs may be open. No agent asks for half as much at a time.
const OPEN_LIMIT: usize = 256;

/// The requests of theirs that wait for a person.
#[derive(Debug, Default)]
pub(super) struct AcpRequests {
    /// By their id, which lives in a space of its own and often equals one of ours.
    open: HashMap<RpcId, AcpRequest>,
}

/// A request that waits for a person.
#[derive(Debug)]
pub(super) struct AcpRequest {
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub what: AcpRequestKind,
}

/// What a request is about, and so what its answer looks like.
#[derive(Debug)]
pub(super) enum AcpRequestKind {
    Permission { approval: ApprovalId, options: Vec<PermissionOption>, tool: String },
    Form { question: QuestionId, elicitation: Option<String> },
}

impl AcpRequests {
    pub(super) fn add(&mut self, id: RpcId, request: AcpRequest) {
        self.open.insert(id, request);
    }

    pub(super) fn approval(&mut self, approval: ApprovalId) -> Option<(RpcId, AcpRequest)> {
        self.take(|request| matches!(&request.what, AcpRequestKind::Permission { approval: of, .. } if *of == approval))
    }

    /// Whether an approval is still waited for.
    pub(super) fn waits_for(&self, approval: ApprovalId) -> bool {
        let is = |request: &AcpRequest| matches!(&request.what, AcpRequestKind::Permission { approval: of, .. } if *of == approval);
        self.open.values().any(is)
    }

    pub(super) fn question(&mut self, question: QuestionId) -> Option<(RpcId, AcpRequest)> {
        self.take(
            |request| matches!(&request.what, AcpRequestKind::Form { question: of, .. } if *of == question),
        )
    }

    fn take(&mut self, wanted: impl Fn(&AcpRequest) -> bool) -> Option<(RpcId, AcpRequest)> {
        let id = self.open.iter().find(|(_, request)| wanted(request))?.0.clone();
        self.open.remove_entry(&id)
    }
}

impl Acp {
    /// The agent asks, and waits.
    pub(super) fn requested(
        &mut self,
        id: RpcId,
        method: &str,
        params: &RawValue,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        if self.requests.open.contains_key(&id) {
            // Two requests of one name: the first one is the one that is answered.
            return Ok(());
        }
        let known = match method {
            "session/request_permission" | "elicitation/create" => true,
            _ => method.starts_with("fs/") || method.starts_with("terminal/"),
        };
        if !known {
            refuse(&id, METHOD_NOT_FOUND, &format!("longshore does not answer {method}"), out);
            return Ok(());
        }
        if self.requests.open.len() + self.works.open() >= OPEN_LIMIT {
            refuse(&id, INTERNAL_ERROR, "too many requests are open already", out);
            return Ok(());
        }
        let native = native_in(Some(params));
        // A question may concern no session, and then goes to the first.
        let home = || self.home.and_then(|home| self.natives.get(&home)).cloned();
        let native = if native.is_empty() { home().unwrap_or_default() } else { native };
        if !self.conversations.contains_key(&native) {
            refuse(&id, INVALID_PARAMS, "there is no session of that name", out);
            return Ok(());
        }
        let understood = match method {
            "session/request_permission" => self.approval_requested(&id, &native, params, cx, out),
            "elicitation/create" => self.elicits(&id, &native, params, cx, out),
            _ => self.works_for(&id, &native, method, params, out),
        };
        if let Err(error) = &understood {
            refuse(&id, INVALID_PARAMS, &format!("longshore does not understand this: {error}"), out);
        }
        understood
    }

    /// Whatever a session's agent waits for, it need not wait any more.
    pub(super) fn cancel_requests(&mut self, session: SessionId, out: &mut Output) {
        while let Some((id, request)) = self.requests.take(|request| request.session == session) {
            reply(&id, cancelled(&request.what), out);
        }
    }

    /// A call will not be done since somebody said no.
    pub(super) fn deny(&mut self, session: SessionId, tool: &str) {
        let conversation = self.natives.get(&session).and_then(|native| self.conversations.get_mut(native));
        if let Some(tool) = conversation.and_then(|conversation| conversation.tools.get_mut(tool)) {
            tool.denied = true;
        }
    }

    /// `$/cancel_request`: the agent takes a request back.
    pub(super) fn withdrawn(&mut self, params: &RawValue, out: &mut Output) -> Result<(), WireError> {
        let Withdrawn { request_id } = serde_json::from_str(params.get())?;
        let id = request_id.map(RpcId::of);
        if let Some((id, request)) = id.and_then(|id| self.requests.open.remove_entry(&id)) {
            refuse(&id, CANCELLED, "the request was withdrawn", out);
            self.expire(&request, out);
        }
        Ok(())
    }

    /// `elicitation/complete`: what was asked for happened elsewhere.
    pub(super) fn elicitation_completed(
        &mut self,
        params: &RawValue,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let done: Elicitation = serde_json::from_str(params.get())?;
        let named = |request: &AcpRequest| match &request.what {
            AcpRequestKind::Form { elicitation, .. } => {
                elicitation.is_some() && *elicitation == done.elicitation_id
            }
            AcpRequestKind::Permission { .. } => false,
        };
        if let Some((id, request)) = self.requests.take(named) {
            reply(&id, json!({"action": "accept"}), out);
            self.expire(&request, out);
        }
        Ok(())
    }

    fn expire(&self, request: &AcpRequest, out: &mut Output) {
        let body = match &request.what {
            AcpRequestKind::Permission { approval, .. } => Body::ApprovalExpired { approval: *approval },
            AcpRequestKind::Form { question, .. } => Body::QuestionExpired { question: *question },
        };
        let text = format!("{} no longer waits for an answer.", self.title());
        out.say(request.session, Draft::new(body).turn(request.turn).text(text));
    }
}

/// The answer to a request that nobody answers.
pub(super) fn cancelled(what: &AcpRequestKind) -> Value {
    match what {
        AcpRequestKind::Permission { .. } => json!({"outcome": {"outcome": "cancelled"}}),
        AcpRequestKind::Form { .. } => json!({"action": "cancel"}),
    }
}

/// Answers a request of theirs.
pub(super) fn reply(id: &RpcId, result: Value, out: &mut Output) {
    out.lines.push(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_json()));
}

/// Answers that it will not be done.
pub(super) fn refuse(id: &RpcId, code: i64, message: &str, out: &mut Output) {
    let error = json!({"code": code, "message": message});
    out.lines.push(format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.as_json()));
}
