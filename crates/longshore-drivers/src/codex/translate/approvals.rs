//! Approvals: Codex's requests before it acts, and the form of a decision on its wire.
//!
//! There are five kinds: a command; a patch, whose changes are in its item; wider permissions; a tool of an
//! MCP server, which comes as an elicitation; and the first two in the form of the first protocol version. An
//! old Codex asks without an id. The answer is then a request that names the item.
//!
//! `decline` and `acceptForSession` work even if Codex does not list them among `availableDecisions`.

use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision, Subject};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, Context, ItemId, PromptId};
use longshore_model::item::FileChange;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::calls::CodexCall;
use super::conversation::ItemKind;
use super::requests::{Asker, CodexRequest, CodexRequestKind, Way, reply};
use super::{Codex, WireError, diffs};
use crate::argv::{line_in, line_of, unwrapped};
use crate::codex::wire::{ApprovalParams, Elicitation, ElicitationMeta, Place, RpcId};
use crate::kit::Scribe;

impl Codex {
    pub(super) fn approval_requested(
        &mut self,
        id: &RpcId,
        method: &str,
        params: &RawValue,
        asker: Asker,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let details: ApprovalParams = serde_json::from_str(params.get())?;
        let approval = ApprovalId::mint(&mut scribe.cx);
        let (item, subject) = self.subject(method, &details, &asker, &mut scribe.cx);
        let amendment = details.proposed_execpolicy_amendment.filter(|words| !words.is_empty());
        let mut options = vec![Decision::AllowOnce, Decision::AllowSession];
        let what = match method {
            "item/fileChange/requestApproval" => CodexRequestKind::Edit { approval },
            "item/permissions/requestApproval" => {
                CodexRequestKind::Permissions { approval, permissions: details.permissions }
            }
            "execCommandApproval" => CodexRequestKind::OldCommand { approval },
            "applyPatchApproval" => CodexRequestKind::OldEdit { approval },
            _ => {
                options.extend(amendment.is_some().then_some(Decision::AllowAlways));
                CodexRequestKind::Command { approval, amendment }
            }
        };
        options.extend([Decision::Deny, Decision::Cancel]);
        let request = ApprovalRequest { approval, subject, options };
        let mut draft = Draft::new(Body::ApprovalRequested(request)).item(item);
        draft.text = details.reason;
        self.ask_approval(id, asker, what, draft, scribe);
        Ok(())
    }

    /// A request to call a tool of an MCP server.
    pub(super) fn may_call_tool(
        &mut self,
        id: &RpcId,
        asked: Elicitation,
        meta: ElicitationMeta,
        asker: Asker,
        scribe: &mut Scribe<'_>,
    ) {
        let approval = ApprovalId::mint(&mut scribe.cx);
        let call = self
            .threads
            .get(&asker.thread)
            .and_then(|thread| thread.mcp_call(&asked.server_name, Some(&meta.tool_params)));
        let tool = match (call, &meta.tool_name) {
            (Some((_, tool)), _) => tool,
            (None, Some(tool)) => tool,
            // Codex names the tool only in the text of its question.
            (None, None) => asked.message.split('"').nth(1).unwrap_or("tool"),
        };
        let subject =
            Subject::Tool { name: format!("{}.{tool}", asked.server_name), input: meta.tool_params };
        let offers = |word: &str| match &meta.persist {
            Value::Array(words) => words.iter().any(|offered| offered == word),
            offered => offered == word,
        };
        let mut options = vec![Decision::AllowOnce];
        options.extend(offers("session").then_some(Decision::AllowSession));
        options.extend(offers("always").then_some(Decision::AllowAlways));
        options.extend([Decision::Deny, Decision::Cancel]);
        let item = call.map(|(item, _)| item);
        let request = ApprovalRequest { approval, subject, options };
        let draft = Draft::new(Body::ApprovalRequested(request)).item(item).text(asked.message);
        self.ask_approval(id, asker, CodexRequestKind::McpTool { approval }, draft, scribe);
    }

    fn ask_approval(
        &mut self,
        id: &RpcId,
        asker: Asker,
        what: CodexRequestKind,
        draft: Draft,
        scribe: &mut Scribe<'_>,
    ) {
        scribe.quote(asker.session, draft.turn(asker.turn_name));
        self.requests.add(id.clone(), asker.request(what));
    }

    /// An approval without an id, from an old Codex.
    pub(super) fn old_approval(
        &mut self,
        method: &str,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let details: ApprovalParams = serde_json::from_str(params.get())?;
        let place: Place<'_> = serde_json::from_str(params.get())?;
        let (session, turn_name) = self.place(&place);
        let Some(session) = session.or(self.home).filter(|_| !details.item_id.is_empty()) else {
            return Ok(());
        };
        let native = self.natives.get(&session).cloned().unwrap_or_default();
        let running = self.threads.get(&native).and_then(|thread| thread.active.clone());
        let turn =
            if place.turn_id.is_empty() { running.unwrap_or_default() } else { place.turn_id.into_owned() };
        let turn_name = turn_name.or_else(|| self.threads.get(&native)?.turns.get(&turn)?.id);
        let asker = Asker { thread: native, turn, session, turn_name };
        let (item, subject) = self.subject(method, &details, &asker, &mut scribe.cx);
        let approval = ApprovalId::mint(&mut scribe.cx);
        let options = vec![Decision::AllowOnce, Decision::Deny, Decision::Cancel];
        let request = ApprovalRequest { approval, subject, options };
        let mut draft = Draft::new(Body::ApprovalRequested(request)).turn(asker.turn_name).item(item);
        draft.text = details.reason;
        scribe.quote(session, draft);
        let way = Way::Item { session, thread: asker.thread, turn: asker.turn, item: details.item_id };
        self.requests.add_by_item(approval, way);
        Ok(())
    }

    /// The subject of a request, together with the facts of its item.
    fn subject(
        &mut self,
        method: &str,
        details: &ApprovalParams,
        asker: &Asker,
        cx: &mut Context<'_>,
    ) -> (Option<ItemId>, Subject) {
        let mut id = None;
        let mut changes: Vec<FileChange> = Vec::new();
        let mut told: Option<(Option<String>, Option<String>)> = None;
        let mut cwd = String::new();
        if let Some(thread) = self.threads.get_mut(&asker.thread).filter(|_| !details.item_id.is_empty()) {
            cwd.clone_from(&thread.cwd);
            // A request for permissions belongs to no item.
            if !asker.turn.is_empty() && method != "item/permissions/requestApproval" {
                let (item, _) = thread.turn(&asker.turn).item(&details.item_id, cx);
                id = Some(item.id);
                match &item.what {
                    ItemKind::Edit(known) => changes.clone_from(known),
                    ItemKind::Tool(call) => told = Some((call.command.clone(), call.cwd.clone())),
                    ItemKind::Plain
                    | ItemKind::Message
                    | ItemKind::Plan
                    | ItemKind::Thought(_)
                    | ItemKind::Mcp { .. } => {}
                }
            }
        }
        let subject = match method {
            "item/permissions/requestApproval" => {
                Subject::Permissions { permissions: details.permissions.clone() }
            }
            "applyPatchApproval" | "item/fileChange/requestApproval" => {
                if changes.is_empty() {
                    changes = diffs::old_changes(&details.file_changes, &cwd);
                }
                Subject::Edit { changes, grant_root: details.grant_root.clone() }
            }
            _ => {
                let (known, at) = told.unwrap_or_default();
                let asked = command_line(&details.command).or_else(|| command_line(&details.parsed_cmd));
                let command = asked.or(known).unwrap_or_default();
                let always = details.proposed_execpolicy_amendment.clone().unwrap_or_default();
                Subject::Command {
                    always: if says_no_more(&always, &command) { Vec::new() } else { always },
                    command,
                    cwd: details.cwd.clone().or(at),
                }
            }
        };
        (id, subject)
    }

    /// Handles a decision. Ignores it if the approval is gone.
    pub(super) fn decide(
        &mut self,
        approval: ApprovalId,
        decision: ApprovalDecision,
        scribe: &mut Scribe<'_>,
    ) {
        let ApprovalDecision { decision, message, .. } = decision;
        let (session, thread, turn, stops_turn) = match self.requests.approval(approval) {
            None => return,
            Some(Way::Item { session, thread, turn, item }) => {
                let word = if decision.allows() { "accept" } else { "decline" };
                let params = json!({"itemId": item, "decision": word});
                self.calls.send("item/approve", params, CodexCall::Tell { session, vital: true }, scribe);
                (session, thread, turn, false)
            }
            Some(Way::Answer(id)) => {
                let Some(CodexRequest { thread, turn, session, what, .. }) = self.requests.take(&id) else {
                    return;
                };
                let (answer, stops_turn) = answer_of(&what, decision);
                reply(&id, answer, scribe);
                (session, thread, turn, stops_turn)
            }
        };
        if decision == Decision::Cancel && !stops_turn && !turn.is_empty() {
            self.interrupt(thread, turn, scribe);
        } else if let Some(message) = message.filter(|text| decision == Decision::Deny && !text.is_empty()) {
            // Codex takes no message with a denial, so the message goes into the turn as a steering prompt.
            let params = json!({
                "threadId": thread,
                "expectedTurnId": turn,
                "clientUserMessageId": PromptId::mint(&mut scribe.cx).to_string(),
                "input": [{"type": "text", "text": message}],
            });
            self.calls.send("turn/steer", params, CodexCall::Tell { session, vital: true }, scribe);
        }
    }
}

/// The answer for a decision, and whether `cancel` in this form stops the turn by itself.
fn answer_of(what: &CodexRequestKind, decision: Decision) -> (Value, bool) {
    match what {
        CodexRequestKind::Command { amendment, .. } => {
            let word = match (decision, amendment) {
                (Decision::AllowAlways, Some(amendment)) => {
                    json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": amendment}})
                }
                (decision, _) => json!(word_of(decision)),
            };
            (json!({"decision": word}), true)
        }
        CodexRequestKind::Edit { .. } => (json!({"decision": word_of(decision)}), true),
        CodexRequestKind::OldCommand { .. } | CodexRequestKind::OldEdit { .. } => {
            let word = match decision {
                Decision::AllowOnce => "approved",
                Decision::AllowSession | Decision::AllowAlways => "approved_for_session",
                Decision::Deny => "denied",
                Decision::Cancel => "abort",
            };
            (json!({"decision": word}), true)
        }
        CodexRequestKind::Permissions { permissions, .. } => {
            let granted = if decision.allows() { permissions.clone() } else { json!({}) };
            let scope = match decision {
                Decision::AllowSession | Decision::AllowAlways => "session",
                Decision::AllowOnce | Decision::Deny | Decision::Cancel => "turn",
            };
            (json!({"permissions": granted, "scope": scope}), false)
        }
        CodexRequestKind::McpTool { .. } => {
            let (action, persist) = match decision {
                Decision::AllowOnce => ("accept", None),
                Decision::AllowSession => ("accept", Some("session")),
                Decision::AllowAlways => ("accept", Some("always")),
                Decision::Deny => ("decline", None),
                Decision::Cancel => ("cancel", None),
            };
            let content = if decision.allows() { json!({}) } else { Value::Null };
            let meta = persist.map_or(Value::Null, |persist| json!({"persist": persist}));
            (json!({"action": action, "content": content, "_meta": meta}), false)
        }
        // A person answers a question, and does not decide it.
        CodexRequestKind::UserInput { .. } | CodexRequestKind::Form { .. } => (json!({"answers": {}}), true),
    }
}

fn word_of(decision: Decision) -> &'static str {
    match decision {
        Decision::AllowOnce => "accept",
        Decision::AllowSession | Decision::AllowAlways => "acceptForSession",
        Decision::Deny => "decline",
        Decision::Cancel => "cancel",
    }
}

/// A command line, from one text or from a list of words.
fn command_line(command: &Value) -> Option<String> {
    match command {
        Value::String(line) => Some(unwrapped(line)),
        Value::Array(words) => line_in(words),
        _ => None,
    }
}

/// Whether "always" would allow exactly this command.
fn says_no_more(always: &[String], command: &str) -> bool {
    line_of(always) == command
}
