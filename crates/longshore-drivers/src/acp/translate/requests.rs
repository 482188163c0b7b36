//! Requests of the agent. The driver answers every request, now or after a person's decision.

use std::collections::HashMap;

use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, QuestionId, SessionId, TurnId};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Acp, WireError, native_in};
use crate::acp::wire::{
    CANCELLED, Elicitation, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, PermissionOption, RpcId,
    Withdrawn,
};
use crate::kit::Scribe;

/// The most open requests. No agent needs half as many at a time.
const OPEN_LIMIT: usize = 256;

/// The agent's requests that wait for a person.
#[derive(Debug, Default)]
pub(super) struct AcpRequests {
    /// The requests by their ids. The agent numbers its requests independently, so an id often equals an id
    /// of ours.
    open: HashMap<RpcId, AcpRequest>,
}

/// A request that waits for a person.
#[derive(Debug)]
pub(super) struct AcpRequest {
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub what: AcpRequestKind,
}

/// The kind of a request, which determines the form of its answer.
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

    /// Whether an approval is still open.
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
    /// Handles a request of the agent.
    pub(super) fn requested(
        &mut self,
        id: RpcId,
        method: &str,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        if self.requests.open.contains_key(&id) {
            // Two requests have the same id: the first one gets the answer.
            return Ok(());
        }
        let known = match method {
            "session/request_permission" | "elicitation/create" => true,
            _ => method.starts_with("fs/") || method.starts_with("terminal/"),
        };
        if !known {
            refuse(&id, METHOD_NOT_FOUND, &format!("longshore does not answer {method}"), scribe);
            return Ok(());
        }
        if self.requests.open.len() + self.host_requests.open() >= OPEN_LIMIT {
            refuse(&id, INTERNAL_ERROR, "too many requests are open already", scribe);
            return Ok(());
        }
        let native = native_in(Some(params));
        // A question may concern no session. It then goes to the first session.
        let home = || self.home.and_then(|home| self.natives.get(&home)).cloned();
        let native = if native.is_empty() { home().unwrap_or_default() } else { native };
        if !self.conversations.contains_key(&native) {
            refuse(&id, INVALID_PARAMS, "there is no session of that name", scribe);
            return Ok(());
        }
        let understood = match method {
            "session/request_permission" => self.approval_requested(&id, &native, params, scribe),
            "elicitation/create" => self.elicits(&id, &native, params, scribe),
            _ => self.host_request_for(&id, &native, method, params, scribe),
        };
        if let Err(error) = &understood {
            refuse(&id, INVALID_PARAMS, &format!("longshore does not understand this: {error}"), scribe);
        }
        understood
    }

    /// Cancels all requests of a session's agent.
    pub(super) fn cancel_requests(&mut self, session: SessionId, scribe: &mut Scribe<'_>) {
        while let Some((id, request)) = self.requests.take(|request| request.session == session) {
            reply(&id, cancelled(&request.what), scribe);
        }
    }

    /// Marks a call as denied.
    pub(super) fn deny(&mut self, session: SessionId, tool: &str) {
        let conversation = self.natives.get(&session).and_then(|native| self.conversations.get_mut(native));
        if let Some(tool) = conversation.and_then(|conversation| conversation.tools.get_mut(tool)) {
            tool.denied = true;
        }
    }

    /// `$/cancel_request`: the agent withdraws a request.
    pub(super) fn withdrawn(&mut self, params: &RawValue, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let Withdrawn { request_id } = serde_json::from_str(params.get())?;
        let id = request_id.map(RpcId::of);
        if let Some((id, request)) = id.and_then(|id| self.requests.open.remove_entry(&id)) {
            refuse(&id, CANCELLED, "the request was withdrawn", scribe);
            self.expire(&request, scribe);
        }
        Ok(())
    }

    /// `elicitation/complete`: the person answered somewhere else.
    pub(super) fn elicitation_completed(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let done: Elicitation = serde_json::from_str(params.get())?;
        let named = |request: &AcpRequest| match &request.what {
            AcpRequestKind::Form { elicitation, .. } => {
                elicitation.is_some() && *elicitation == done.elicitation_id
            }
            AcpRequestKind::Permission { .. } => false,
        };
        if let Some((id, request)) = self.requests.take(named) {
            reply(&id, json!({"action": "accept"}), scribe);
            self.expire(&request, scribe);
        }
        Ok(())
    }

    fn expire(&self, request: &AcpRequest, scribe: &mut Scribe<'_>) {
        let body = match &request.what {
            AcpRequestKind::Permission { approval, .. } => Body::ApprovalExpired { approval: *approval },
            AcpRequestKind::Form { question, .. } => Body::QuestionExpired { question: *question },
        };
        let text = format!("{} no longer waits for an answer.", self.title());
        scribe.say(request.session, Draft::new(body).turn(request.turn).text(text));
    }
}

/// The answer to a request that nobody will answer.
pub(super) fn cancelled(what: &AcpRequestKind) -> Value {
    match what {
        AcpRequestKind::Permission { .. } => json!({"outcome": {"outcome": "cancelled"}}),
        AcpRequestKind::Form { .. } => json!({"action": "cancel"}),
    }
}

/// Answers a request of the agent.
pub(super) fn reply(id: &RpcId, result: Value, scribe: &mut Scribe<'_>) {
    scribe.out.lines.push(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_json()));
}

/// Answers a request of the agent with an error.
pub(super) fn refuse(id: &RpcId, code: i64, message: &str, scribe: &mut Scribe<'_>) {
    let error = json!({"code": code, "message": message});
    scribe.out.lines.push(format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.as_json()));
}
