//! Approvals: the agent's requests for permission. The answer is one of the options that the agent offers.
//! The driver chooses an option by its kind, never by its place in the list.

use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision, Subject};
use longshore_model::capability::Mode;
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{ApprovalId, SessionId, TurnId};
use longshore_model::item::ToolKind;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::conversation::AcpConversation;
use super::deferred_approvals::DeferredApproval;
use super::requests::{AcpRequest, AcpRequestKind, cancelled, reply};
use super::settings::Answers;
use super::tools::{AcpToolCall, Source};
use super::{Acp, WireError, outputs};
use crate::acp::rows::Quirks;
use crate::acp::wire::{ApprovalParams, PermissionOption, RpcId};
use crate::kit::Scribe;
use crate::kit::edits::READ_WITHIN_MS;

impl Acp {
    pub(super) fn approval_requested(
        &mut self,
        id: &RpcId,
        native: &str,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let ApprovalParams { tool_call: part, options } = serde_json::from_str(params.get())?;
        let Some(conversation) = self.conversations.get_mut(native) else { return Ok(()) };
        let reason = reason_in(&part);
        let name = part.tool_call_id.clone();
        // Some agents report a call in this request, and otherwise only at its end.
        conversation.tool_told(part, Source::Permission, self.row.quirks.names, scribe);
        let reason = match reason.as_deref().and_then(placed) {
            Some((folder, why)) => {
                if let Some(tool) = conversation.tools.get_mut(&name) {
                    tool.call.cwd.get_or_insert_with(|| folder.to_owned());
                }
                Some(why.to_owned()).filter(|why| !why.is_empty())
            }
            None => reason,
        };
        let tool = conversation.tools.get(&name);
        if conversation.answers_itself(tool)
            && let Some(option) = option_for(Decision::AllowOnce, &options)
        {
            if let Some(tool) = conversation.tools.get_mut(&name) {
                tool.begun = true;
            }
            reply(id, json!({"outcome": {"outcome": "selected", "optionId": option}}), scribe);
            return Ok(());
        }
        let approval = ApprovalId::mint(&mut scribe.cx);
        let (session, turn, root) = (conversation.session, conversation.turn_id(), conversation.cwd.clone());
        let unplaced: Vec<String> = tool
            .into_iter()
            .flat_map(|tool| tool.edits.iter().filter(|edit| edit.is_unplaced()))
            .map(|edit| edit.path().to_owned())
            .collect();
        let plans = conversation.mode == Mode::Plan && tool.is_some_and(|tool| tool.switches);
        let decisions = decisions(&options, &self.row.quirks);
        let what = AcpRequestKind::Permission { approval, options, tool: name.clone() };
        self.requests.add(id.clone(), AcpRequest { session, turn, what });
        let looks = unplaced
            .into_iter()
            .map(|path| (self.look_at(session, root.clone(), path.clone(), scribe), path));
        let looks = looks.collect();
        let due = scribe.cx.now.plus_millis(READ_WITHIN_MS);
        self.held.push(DeferredApproval {
            approval,
            native: native.to_owned(),
            tool: name,
            decisions,
            reason,
            looks,
            plans,
            due,
        });
        self.ask_held(scribe);
        Ok(())
    }

    /// Asks a person, now that the driver knows all facts that it can get.
    pub(super) fn ask_person(&mut self, held: DeferredApproval, scribe: &mut Scribe<'_>) {
        let DeferredApproval { approval, native, tool, decisions: mut options, reason, .. } = held;
        // The request may be gone by now.
        if !self.requests.waits_for(approval) {
            return;
        }
        let Some(conversation) = self.conversations.get(&native) else { return };
        let tool = conversation.tools.get(&tool);
        if tool.is_some_and(AcpToolCall::asks_for_its_plan) && options.contains(&Decision::AllowOnce) {
            // Our own mode lets the agent change files without asking, whatever options the agent offers.
            options.retain(|decision| !matches!(decision, Decision::AllowSession | Decision::AllowAlways));
            options.insert(1, Decision::AllowSession);
        }
        let request = ApprovalRequest { approval, subject: conversation.subject(tool), options };
        let title = tool.map(|tool| tool.title.clone()).unwrap_or_default();
        let said = match &request.subject {
            Subject::Command { command, .. } => *command == title,
            Subject::Edit { .. } => true,
            Subject::Tool { name, .. } => *name == title,
            Subject::Plan { .. } => true,
            Subject::Permissions { .. } => false,
        };
        let item = tool.map(|tool| tool.item);
        let mut draft = Draft::new(Body::ApprovalRequested(request)).turn(conversation.turn_id()).item(item);
        draft.text = reason.or_else(|| Some(title).filter(|title| !said && !title.is_empty()));
        scribe.say(conversation.session, draft);
    }

    /// Handles a decision. Ignores it if the approval is gone.
    pub(super) fn decide(
        &mut self,
        approval: ApprovalId,
        decision: &ApprovalDecision,
        scribe: &mut Scribe<'_>,
    ) {
        let Some((id, request)) = self.requests.approval(approval) else { return };
        let AcpRequestKind::Permission { options, tool, .. } = &request.what else { return };
        let (decision, message) = (decision.decision, decision.message.as_deref());
        if !decision.allows() {
            self.deny(request.session, tool);
        } else if let Some(native) = self.natives.get(&request.session)
            && let Some(tool) =
                self.conversations.get_mut(native).and_then(|conversation| conversation.tools.get_mut(tool))
        {
            tool.begun = true;
        }
        let of_plan = self
            .natives
            .get(&request.session)
            .and_then(|native| self.conversations.get(native)?.tools.get(tool));
        let of_plan = of_plan.is_some_and(AcpToolCall::asks_for_its_plan);
        let edits = of_plan && decision == Decision::AllowSession;
        let chosen = if edits { Decision::AllowOnce } else { decision };
        let answer = match option_for(chosen, options) {
            Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
            None => cancelled(&request.what),
        };
        reply(&id, answer, scribe);
        if let Some(words) = message.filter(|words| !words.is_empty() && !decision.allows()) {
            self.did_not_hear(request.session, request.turn, words, scribe);
        }
        if edits && let Some(native) = self.natives.get(&request.session).cloned() {
            // This comes after the allowance, because the agent leaves its planning mode by itself when it is
            // allowed.
            let draft = Draft::new(Body::ModeChanged { mode: Mode::AutoEdit }).turn(request.turn);
            scribe.say(request.session, draft);
            self.settle_mode(&native, Mode::AutoEdit, scribe);
            // After our mode, the agent may still change to a mode of its own choice.
            if let Some(conversation) = self.conversations.get_mut(&native) {
                conversation.answers = Answers::Edits;
            }
        }
        if decision == Decision::Cancel
            && let Some(turn) = request.turn
            && let Some(native) = self.natives.get(&request.session).cloned()
        {
            self.interrupt(&native, request.session, turn, scribe);
        }
    }

    /// Emits a notice that the agent does not take a message with a denial. The same message gets one notice
    /// per turn, because the hub may refuse many requests with it.
    fn did_not_hear(
        &mut self,
        session: SessionId,
        turn: Option<TurnId>,
        words: &str,
        scribe: &mut Scribe<'_>,
    ) {
        let conversation = self.natives.get(&session).and_then(|native| self.conversations.get_mut(native));
        let Some(conversation) = conversation else { return };
        let unheard = Some((turn, words.to_owned()));
        if conversation.unheard != unheard {
            conversation.unheard = unheard;
            let text = format!("{} takes no words with a no; it did not hear: {words}", self.row.title);
            scribe.notice(session, turn, NoticeLevel::Warning, text);
        }
    }
}

impl AcpConversation {
    /// Whether the mode allows the call, although the agent asks.
    fn answers_itself(&self, tool: Option<&AcpToolCall>) -> bool {
        match self.answers {
            Answers::Person => false,
            Answers::All => true,
            Answers::Edits => tool.is_some_and(|tool| {
                let changes = matches!(tool.call.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
                let shown = tool.edits.iter().map(|edit| edit.path());
                let mut paths = shown.chain(tool.paths.iter().map(String::as_str)).peekable();
                changes && paths.peek().is_some() && paths.all(|path| is_inside(path, &self.cwd))
            }),
        }
    }

    /// The subject of a request.
    fn subject(&self, tool: Option<&AcpToolCall>) -> Subject {
        let Some(tool) = tool else {
            return Subject::Tool { name: "tool".to_owned(), input: Value::Null };
        };
        let call = &tool.call;
        if let Some(plan) = tool.plan.as_ref().filter(|_| tool.switches) {
            return Subject::Plan { plan: plan.clone() };
        }
        match &call.command {
            Some(command) => {
                let always = call.input["proposed_execpolicy_amendment"].as_array().into_iter().flatten();
                let always: Vec<String> = always.filter_map(Value::as_str).map(str::to_owned).collect();
                // The rule that the agent would allow for ever is usually exactly this command.
                let more =
                    outputs::command_in(&json!({"command": always})).is_some_and(|all| all != *command);
                let always = if more { always } else { Vec::new() };
                // A command without a folder runs in the session's folder.
                let cwd = Some(call.cwd.clone().unwrap_or_else(|| self.cwd.clone()));
                Subject::Command { command: command.clone(), cwd, always }
            }
            None if !tool.edits.is_empty() => {
                Subject::Edit { changes: tool.changes(&self.cwd), grant_root: None }
            }
            None => {
                let name = match call.name.as_str() {
                    "other" | "tool" if !tool.title.is_empty() => tool.title.clone(),
                    name => name.to_owned(),
                };
                Subject::Tool { name, input: call.input.clone() }
            }
        }
    }
}

/// The agent's reason, if it gives one.
fn reason_in(part: &crate::acp::wire::ToolPart) -> Option<String> {
    let input = part.raw_input.as_ref();
    let said = input.and_then(|input| input["reason"].as_str().or_else(|| input["description"].as_str()));
    match said {
        Some(said) => Some(said.to_owned()),
        // One agent only lists the possible answers in this field.
        None if input.is_some_and(|input| !input["available_decisions"].is_null()) => None,
        // One agent puts the arguments into this field.
        None => outputs::printed(part.content.as_deref().unwrap_or_default())
            .filter(|text| outputs::arguments_in(text).is_none()),
    }
}

/// Folder and reason: `[current working directory /w] (make a file)`.
fn placed(reason: &str) -> Option<(&str, &str)> {
    let (folder, why) = reason.strip_prefix("[current working directory ")?.split_once(']')?;
    let why = why.trim();
    Some((folder, why.strip_prefix('(').and_then(|why| why.strip_suffix(')')).unwrap_or(why)))
}

/// The decisions that the agent can carry out for this request.
fn decisions(options: &[PermissionOption], quirks: &Quirks) -> Vec<Decision> {
    let offers = |kind: &str| options.iter().any(|option| option.kind == kind);
    let mut decisions = Vec::new();
    if offers("allow_once") {
        decisions.push(Decision::AllowOnce);
    }
    if offers("allow_always") {
        decisions.push(quirks.always);
    }
    if (offers("reject_once") || offers("reject_always")) && !quirks.rejection_ends_turn {
        decisions.push(Decision::Deny);
    }
    decisions.push(Decision::Cancel);
    decisions
}

/// The option for a decision. If there are several of the same kind, the last one, because agents list the
/// widest option first.
fn option_for(decision: Decision, options: &[PermissionOption]) -> Option<&str> {
    let of = |kind: &str| {
        options.iter().rev().find(|option| option.kind == kind).map(|option| option.option_id.as_str())
    };
    match decision {
        Decision::AllowOnce => of("allow_once").or_else(|| of("allow_always")),
        Decision::AllowSession | Decision::AllowAlways => of("allow_always").or_else(|| of("allow_once")),
        Decision::Deny => of("reject_once").or_else(|| of("reject_always")),
        Decision::Cancel => None,
    }
}

/// Whether a path is in the work tree, judged by the text of the path alone.
fn is_inside(path: &str, cwd: &str) -> bool {
    let steps = |part: &str| part == "..";
    if path.split('/').any(steps) {
        return false;
    }
    let Some(rest) = path.strip_prefix(cwd.trim_end_matches('/')) else { return !path.starts_with('/') };
    rest.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_may_say_where() {
        assert_eq!(placed("[current working directory /w] (make (a) file)"), Some(("/w", "make (a) file")));
        assert_eq!(placed("[current working directory /w]"), Some(("/w", "")));
        assert_eq!(placed("make a file"), None);
    }

    #[test]
    fn a_path_is_inside_by_its_words() {
        for (path, inside) in [
            ("/w/a.txt", true),
            ("a/b.txt", true),
            ("/w", false),
            ("/w.txt", false),
            ("/w/../etc/hosts", false),
            ("../x", false),
            ("/etc/hosts", false),
        ] {
            assert_eq!(is_inside(path, "/w"), inside, "{path}");
            assert_eq!(is_inside(path, "/w/"), inside, "{path}");
        }
    }
}
