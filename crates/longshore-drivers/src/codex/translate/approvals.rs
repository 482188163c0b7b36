//! May it? What codex asks before it acts, and how a decision reads in its words.
//!
//! Five kinds: a command, a patch (whose changes are in its item), wider permissions, a tool of an MCP server (which
//! comes as an elicitation), and the first two again in the words of the first version. Codex of old asks without an id
//! and is answered with a request that names the item.
//!
//! `decline` and `acceptForSession` work although codex does not always list them among `availableDecisions`.

use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision, Subject};
use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
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

impl Codex {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn approval_requested(
        &mut self,
        id: &RpcId,
        method: &str,
        params: &RawValue,
        asker: Asker,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let details: ApprovalParams = serde_json::from_str(params.get())?;
        let approval = ApprovalId::mint(cx);
        let (item, subject) = self.subject(method, &details, &asker, cx);
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
        self.ask_approval(
            id,
            asker,
            what,
            item,
            details.reason,
            ApprovalRequest { approval, subject, options },
            raw,
            out,
        );
        Ok(())
    }

    /// May this tool of an MCP server be called?
    #[allow(clippy::too_many_arguments)]
    pub(super) fn may_call_tool(
        &mut self,
        id: &RpcId,
        asked: Elicitation,
        meta: ElicitationMeta,
        asker: Asker,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let approval = ApprovalId::mint(cx);
        let call = self
            .threads
            .get(&asker.thread)
            .and_then(|thread| thread.mcp_call(&asked.server_name, Some(&meta.tool_params)));
        let tool = match (call, &meta.tool_name) {
            (Some((_, tool)), _) => tool,
            (None, Some(tool)) => tool,
            // Codex names the tool in its question and nowhere else.
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
        self.ask_approval(
            id,
            asker,
            CodexRequestKind::McpTool { approval },
            item,
            Some(asked.message),
            request,
            raw,
            out,
        );
    }

    #[allow(clippy::too_many_arguments)]
    fn ask_approval(
        &mut self,
        id: &RpcId,
        asker: Asker,
        what: CodexRequestKind,
        item: Option<ItemId>,
        reason: Option<String>,
        request: ApprovalRequest,
        raw: &Raw,
        out: &mut Output,
    ) {
        let mut draft = Draft::new(Body::ApprovalRequested(request)).turn(asker.turn_name).item(item);
        draft.text = reason;
        out.say(asker.session, draft.raw(raw.clone()));
        self.requests.add(id.clone(), asker.request(what));
    }

    /// An approval without an id, as codex of old asked.
    pub(super) fn old_approval(
        &mut self,
        method: &str,
        params: &RawValue,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
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
        let (item, subject) = self.subject(method, &details, &asker, cx);
        let approval = ApprovalId::mint(cx);
        let options = vec![Decision::AllowOnce, Decision::Deny, Decision::Cancel];
        let request = ApprovalRequest { approval, subject, options };
        let mut draft = Draft::new(Body::ApprovalRequested(request)).turn(asker.turn_name).item(item);
        draft.text = details.reason;
        out.say(session, draft.raw(raw.clone()));
        let way = Way::Item { session, thread: asker.thread, turn: asker.turn, item: details.item_id };
        self.requests.add_by_item(approval, way);
        Ok(())
    }

    /// What a request is about, joined with what its item said.
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
            // Permissions are asked for outside of any item.
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

    /// Somebody decided. An approval that is gone by now is left alone.
    pub(super) fn decide(
        &mut self,
        approval: ApprovalId,
        decision: ApprovalDecision,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let ApprovalDecision { decision, message, .. } = decision;
        let (session, thread, turn, stops_turn) = match self.requests.approval(approval) {
            None => return,
            Some(Way::Item { session, thread, turn, item }) => {
                let word = if decision.allows() { "accept" } else { "decline" };
                let params = json!({"itemId": item, "decision": word});
                self.calls.send("item/approve", params, CodexCall::Tell { session, vital: true }, cx, out);
                (session, thread, turn, false)
            }
            Some(Way::Answer(id)) => {
                let Some(CodexRequest { thread, turn, session, what, .. }) = self.requests.take(&id) else {
                    return;
                };
                let (answer, stops_turn) = answer_of(&what, decision);
                reply(&id, answer, out);
                (session, thread, turn, stops_turn)
            }
        };
        if decision == Decision::Cancel && !stops_turn && !turn.is_empty() {
            self.interrupt(thread, turn, cx, out);
        } else if let Some(message) = message.filter(|text| decision == Decision::Deny && !text.is_empty()) {
            // Codex takes no word with a no, so the word is said into the turn.
            let params = json!({
                "threadId": thread,
                "expectedTurnId": turn,
                "clientUserMessageId": PromptId::mint(cx).to_string(),
                "input": [{"type": "text", "text": message}],
            });
            self.calls.send("turn/steer", params, CodexCall::Tell { session, vital: true }, cx, out);
        }
    }
}

/// A decision in their words, and whether it stops the turn where it should.
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
        // A question is answered and not decided.
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

/// A command line, from a line or from its words.
fn command_line(command: &Value) -> Option<String> {
    match command {
        Value::String(line) => Some(unwrapped(line)),
        Value::Array(words) => line_in(words),
        _ => None,
    }
}

/// Whether what would be allowed for ever is this very command.
fn says_no_more(always: &[String], command: &str) -> bool {
    line_of(always) == command
}
