//! Approvals: OpenCode's requests before it acts, and the form of a decision on its wire.
//!
//! OpenCode knows `once`, `always` and `reject`. `always` is valid for every session of the folder until the
//! server ends. So "for this session" is `once` together with a rule of the session. `reject` stops the turn.
//! `reject` with a message goes to the model, which continues. Both also reject everything else that the
//! session waits for. So the driver holds a denial back until no other approval is open. OpenCode never
//! settles an approval of a stopped turn, so the driver drops it.

use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision, Subject};
use longshore_model::event::{Body, Draft};
use longshore_model::id::ApprovalId;
use longshore_model::item::FileChange;
use serde_json::{Value, json};

use super::calls::{OpenCodeCall, OutgoingRequest};
use super::modes::{ModeVerdict, verdict};
use super::pending_answers::{PendingAnswer, PendingAnswers};
use super::{OpenCode, diffs};
use crate::kit::Scribe;
use crate::opencode::wire::{Permission, Replied};

/// The message to the model when a person denies without a message.
const NO: &str = "The user does not want this. Go on without it, or ask what to do instead.";
/// The message to the model when it wants to change something while it plans.
const PLANNING: &str = "You are planning: change nothing, and say what you would change.";

/// The open approvals.
pub(super) type Approvals = PendingAnswers<ApprovalId, PermissionDetails>;

/// The facts of an open approval.
#[derive(Debug)]
pub(super) struct PermissionDetails {
    permission: String,
    always: Vec<String>,
    /// The message of a denial, which the driver sends when no other approval is open.
    denied: Option<String>,
}

impl Approvals {
    /// Whether a conversation has an open approval.
    fn is_open(&self, native: &str) -> bool {
        self.0.values().any(|waiting| waiting.native == native && waiting.about.denied.is_none())
    }

    /// The denials of a conversation that the driver has not sent yet.
    fn take_denied(&mut self, native: &str) -> Vec<(String, String)> {
        let mut denied = Vec::new();
        self.0.retain(|_, waiting| match waiting.about.denied.take_if(|_| waiting.native == native) {
            Some(words) => {
                denied.push((waiting.id.clone(), words));
                false
            }
            None => true,
        });
        denied
    }
}

impl OpenCode {
    pub(super) fn approval_requested(&mut self, asked: Permission, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(&asked.session_id) else { return };
        if self.approvals.knows(&asked.id) {
            return;
        }
        let (session, turn, directory) =
            (conversation.session, conversation.turn_id(), conversation.directory.clone());
        let changes = match asked.permission.as_str() {
            "edit" => diffs::asked_changes(&asked.metadata, &directory),
            _ => Vec::new(),
        };
        let mut item = None;
        if let Some((id, tool)) = asked.tool.as_ref().and_then(|tool| conversation.call(&tool.call_id)) {
            item = Some(id);
            tool.changes.clone_from(&changes);
            tool.asked = true;
        }
        let (allowed, message) = match verdict(conversation.mode, &asked.permission) {
            ModeVerdict::Allow => (true, None),
            ModeVerdict::Deny => (false, Some(PLANNING)),
            ModeVerdict::Ask => {
                let approval = ApprovalId::mint(&mut scribe.cx);
                let mut options = vec![Decision::AllowOnce];
                if !asked.always.is_empty() {
                    options.extend([Decision::AllowSession, Decision::AllowAlways]);
                }
                options.extend([Decision::Deny, Decision::Cancel]);
                let subject = subject_of(&asked, changes, directory);
                let request = ApprovalRequest { approval, subject, options };
                let draft = Draft::new(Body::ApprovalRequested(request)).turn(turn).item(item);
                scribe.quote(session, draft);
                let Permission { id, session_id: native, permission, always, .. } = asked;
                let about = PermissionDetails { permission, always, denied: None };
                let waiting = PendingAnswer { id, native, session, turn, about };
                self.approvals.0.insert(approval, waiting);
                return;
            }
        };
        let reply = if allowed { "once" } else { "reject" };
        self.reply(&asked.session_id, &asked.id, reply, message, scribe);
    }

    fn reply(&mut self, native: &str, id: &str, reply: &str, message: Option<&str>, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get(native) else { return };
        let mut body = json!({"reply": reply});
        if let Some(message) = message {
            body["message"] = json!(message);
        }
        let ask = OutgoingRequest::post(format!("/permission/{id}/reply"), &conversation.directory, body)
            .of(conversation.session);
        self.calls.send(ask, OpenCodeCall::Reply, scribe);
    }

    /// Handles a decision. Ignores it if the approval is gone.
    pub(super) fn decide(
        &mut self,
        approval: ApprovalId,
        decision: ApprovalDecision,
        scribe: &mut Scribe<'_>,
    ) {
        let message = decision.message.as_deref().filter(|message| !message.is_empty()).unwrap_or(NO);
        let Some(waiting) = self.approvals.0.get_mut(&approval) else { return };
        if decision.decision == Decision::Deny {
            let native = waiting.native.clone();
            waiting.about.denied = Some(message.to_owned());
            return self.say_denied(&native, scribe);
        }
        let Some(waiting) = self.approvals.0.remove(&approval) else { return };
        let PendingAnswer { id, native, turn, about: PermissionDetails { permission, always, .. }, .. } =
            waiting;
        match decision.decision {
            Decision::AllowOnce => self.reply(&native, &id, "once", None, scribe),
            Decision::AllowSession => {
                self.allow_in_session(&native, &permission, &always, scribe);
                self.reply(&native, &id, "once", None, scribe);
            }
            Decision::AllowAlways => self.reply(&native, &id, "always", None, scribe),
            Decision::Deny | Decision::Cancel => {
                let running =
                    self.conversations.get_mut(&native).and_then(|conversation| conversation.turn.as_mut());
                if let Some(running) = running.filter(|running| Some(running.id) == turn) {
                    running.cancelled = true;
                }
                self.reply(&native, &id, "reject", None, scribe);
            }
        }
        self.say_denied(&native, scribe);
    }

    /// Sends the denials, if no other approval is open.
    fn say_denied(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        if !self.approvals.is_open(native) {
            for (id, message) in self.approvals.take_denied(native) {
                self.reply(native, &id, "reject", Some(&message), scribe);
            }
        }
    }

    fn allow_in_session(
        &mut self,
        native: &str,
        permission: &str,
        always: &[String],
        scribe: &mut Scribe<'_>,
    ) {
        let Some(conversation) = self.conversations.get(native) else { return };
        let rule =
            |pattern: &String| json!({"permission": permission, "pattern": pattern, "action": "allow"});
        let rules: Value = always.iter().map(rule).collect();
        let body = json!({"permission": rules});
        let ask = OutgoingRequest::patch(format!("/session/{native}"), &conversation.directory, body)
            .of(conversation.session);
        self.calls.send(ask, OpenCodeCall::Tell { vital: true }, scribe);
    }

    /// OpenCode reports that a request has an answer. If the answer is not ours, nobody needs to decide any
    /// longer.
    pub(super) fn permission_settled(&mut self, replied: &Replied, scribe: &mut Scribe<'_>) {
        let text = match replied.reply.as_deref() {
            Some("reject") => "OpenCode gave it up with another one that was denied",
            Some(_) | None => "OpenCode was allowed it with another one",
        };
        self.withdrawn(&replied.request_id, text, scribe);
    }

    pub(super) fn withdrawn(&mut self, id: &str, text: &str, scribe: &mut Scribe<'_>) {
        let Some((approval, waiting)) = self.approvals.take(id) else { return };
        if waiting.about.denied.is_none() {
            let draft = Draft::new(Body::ApprovalExpired { approval }).turn(waiting.turn).text(text);
            scribe.quote(waiting.session, draft);
        }
        self.say_denied(&waiting.native, scribe);
    }
}

fn subject_of(asked: &Permission, changes: Vec<FileChange>, directory: String) -> Subject {
    match asked.permission.as_str() {
        "bash" => {
            let command = asked.metadata["command"].as_str().map(str::to_owned);
            let command = command.unwrap_or_else(|| asked.patterns.join("; "));
            Subject::Command { command, cwd: Some(directory), always: asked.always.clone() }
        }
        "edit" => Subject::Edit { changes, grant_root: None },
        "external_directory" | "doom_loop" => {
            let permissions = json!({"permission": asked.permission, "patterns": asked.patterns});
            Subject::Permissions { permissions }
        }
        other => {
            let input = json!({"patterns": asked.patterns, "metadata": asked.metadata});
            Subject::Tool { name: other.to_owned(), input }
        }
    }
}
