//! Approvals: Claude's requests before it acts, and the form of a decision on its wire.
//!
//! An allowance must contain the arguments, and a denial must contain a reason. Claude stores the rules that
//! it suggests for "always", but then does not follow them. So for "for this session", the driver offers a
//! rule for the whole tool. For changes of files, it offers the mode that allows them without asking. A
//! request need not belong to a running turn: a sub-agent in the background sends requests at any time.
//!
//! To allow a change, a person must see the change. So the driver first lets the anchor read the file.

use std::collections::{BTreeMap, HashMap, HashSet};

use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision, Subject};
use longshore_model::capability::Mode;
use longshore_model::event::{Body, Draft};
use longshore_model::host_io::{HostFault, HostReply, HostRequest, HostRequestId, Job};
use longshore_model::id::{ApprovalId, QuestionId, SessionId, TurnId};
use longshore_model::item::ToolKind;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::conversation::MAIN;
use super::modes::native_mode;
use super::{Claude, WireError, diffs, tools};
use crate::claude::wire::{Line, Request};
use crate::kit::Scribe;
use crate::kit::edits::{Before, FileEdit, READ_WITHIN_MS, carried_out};

/// The message to Claude when a person denies without a message.
const DENIED: &str = "The user said no to this.";
/// The most files of which the driver remembers that Claude has read them.
const KNOWN_LIMIT: usize = 10_000;

/// The requests that wait for a person.
#[derive(Debug, Default)]
pub(super) struct ClaudeRequests {
    /// The requests by their ids.
    open: HashMap<String, ClaudeRequest>,
    approvals: HashMap<ApprovalId, String>,
    questions: HashMap<QuestionId, String>,
    /// The files that Claude has read or written.
    known: HashSet<String>,
    /// The requests that wait for a file.
    held: BTreeMap<HostRequestId, DeferredRequest>,
    /// The number of files that the driver has requested.
    reads: u64,
    /// The file into which Claude writes its plan, and the plan.
    plan: Option<(String, String)>,
}

/// A request whose file the anchor is reading.
#[derive(Debug)]
struct DeferredRequest {
    /// The id of the request.
    id: String,
    request: ApprovalRequest,
    draft: Draft,
    input: Value,
    due: Timestamp,
}

/// A request of Claude that waits for a person.
#[derive(Debug)]
pub(super) struct ClaudeRequest {
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub what: ClaudeRequestKind,
    /// The arguments, which an allowance must repeat.
    pub input: Value,
    /// The tool call of the request.
    tool_use_id: String,
    tool_name: String,
    /// The suggestion that makes an allowance last for the session.
    lasting: Option<Value>,
}

/// The kind of answer that a request needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClaudeRequestKind {
    Approval(ApprovalId),
    Question(QuestionId),
}

impl ClaudeRequests {
    fn add(&mut self, id: String, ask: ClaudeRequest) {
        match ask.what {
            ClaudeRequestKind::Approval(approval) => self.approvals.insert(approval, id.clone()),
            ClaudeRequestKind::Question(question) => self.questions.insert(question, id.clone()),
        };
        self.open.insert(id, ask);
    }

    fn take(&mut self, id: &str) -> Option<ClaudeRequest> {
        let ask = self.open.remove(id)?;
        match ask.what {
            ClaudeRequestKind::Approval(approval) => self.approvals.remove(&approval),
            ClaudeRequestKind::Question(question) => self.questions.remove(&question),
        };
        Some(ask)
    }

    pub(super) fn take_question(&mut self, question: QuestionId) -> Option<(String, ClaudeRequest)> {
        let id = self.questions.get(&question)?.clone();
        self.take(&id).map(|ask| (id, ask))
    }

    /// Forgets the requests of a turn that is over.
    pub(super) fn forget(&mut self, session: SessionId, turn: TurnId) {
        let over: Vec<String> = self
            .open
            .iter()
            .filter(|(_, ask)| ask.session == session && ask.turn == Some(turn))
            .map(|(id, _)| id.clone())
            .collect();
        for id in over {
            self.take(&id);
        }
    }
}

impl Claude {
    /// Handles a request. The driver answers an unknown request with an error, which Claude takes as a
    /// denial.
    pub(super) fn requested(&mut self, line: &Line<'_>, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let id = line.request_id.as_ref();
        if self.requests.open.contains_key(id) {
            return Ok(());
        }
        let understood = line.request.map(|request| serde_json::from_str::<Request>(request.get()));
        let request = match understood {
            Some(Ok(request)) if request.subtype == "can_use_tool" && !self.conversations.is_empty() => {
                request
            }
            Some(Err(error)) => {
                refuse(id, &format!("longshore does not understand this: {error}"), scribe);
                return Err(error);
            }
            Some(Ok(request)) => {
                refuse(id, &format!("longshore does not answer {}", request.subtype), scribe);
                return Ok(());
            }
            None => return Ok(()),
        };
        self.begin_lined(&request.tool_use_id, scribe);
        let is_question = request.tool_name == tools::ASK_USER;
        let of_plan = request.tool_name == tools::EXIT_PLAN;
        let never_asks = self.home.as_ref().is_some_and(|home| home.mode == Mode::Full);
        if never_asks && !is_question && !of_plan {
            reply(id, json!({"behavior": "allow", "updatedInput": record(&request.input)}), scribe);
            return Ok(());
        }
        let at = match request.agent_id.as_str() {
            "" => self.tools.get(&request.tool_use_id).map_or(MAIN, |tool| tool.conversation),
            agent => self.children.get(agent).copied().unwrap_or(MAIN),
        };
        let item = match (request.tool_use_id.as_str(), self.tools.get(&request.tool_use_id)) {
            ("", _) => None,
            (_, Some(tool)) => Some(tool.item),
            (call, None) => self.tool_began(at, call, &request.tool_name, &request.input, &mut scribe.bare()),
        };
        let Some(conversation) = self.conversations.get(at) else { return Ok(()) };
        let (session, turn) = (conversation.session, conversation.turn);
        let what = if is_question {
            let (question, draft) = super::questions::asked(&request, &mut scribe.cx);
            scribe.quote(session, draft.turn(turn).item(item));
            ClaudeRequestKind::Question(question)
        } else {
            let approval = ApprovalId::mint(&mut scribe.cx);
            let lasting = lasting(&request);
            let mut options = vec![Decision::AllowOnce];
            options.extend(lasting.is_some().then_some(Decision::AllowSession));
            options.extend([Decision::Deny, Decision::Cancel]);
            let asked = ApprovalRequest { approval, subject: self.subject(&request), options };
            let mut draft = Draft::new(Body::ApprovalRequested(asked.clone())).turn(turn).item(item);
            let reason = request.decision_reason.clone().or_else(|| request.description.clone());
            draft.text = reason.filter(|reason| !reason.is_empty());
            let reads =
                matches!(&asked.subject, Subject::Edit { .. }) && diffs::edit_of(&request.input).is_some();
            match diffs::path_of(&request.input).filter(|_| reads) {
                Some(path) => {
                    let (id, input) = (id.to_owned(), request.input.clone());
                    let due = scribe.cx.now.plus_millis(READ_WITHIN_MS);
                    let held = DeferredRequest { id, request: asked, draft, input, due };
                    self.hold(session, path, held, scribe);
                }
                None => scribe.quote(session, draft),
            }
            ClaudeRequestKind::Approval(approval)
        };
        let lasting = lasting(&request);
        let Request { input, tool_use_id, tool_name, .. } = request;
        self.requests.add(
            id.to_owned(),
            ClaudeRequest { session, turn, what, input, tool_use_id, tool_name, lasting },
        );
        Ok(())
    }

    fn subject(&self, request: &Request) -> Subject {
        let cwd = self.home.as_ref().map_or("", |home| home.cwd.as_str());
        let call = tools::call_of(&request.tool_name, &request.input, Some(cwd));
        if request.tool_name == tools::EXIT_PLAN {
            return Subject::Plan { plan: self.plan_in(request) };
        }
        match (call.kind, call.command) {
            (ToolKind::Execute, Some(command)) => {
                Subject::Command { command, cwd: call.cwd, always: Vec::new() }
            }
            (ToolKind::Edit, _) => {
                let changes = diffs::wanted(&request.input, cwd, self.unread(&request.input));
                Subject::Edit { changes, grant_root: None }
            }
            (_, _) => Subject::Tool { name: call.name, input: request.input.clone() },
        }
    }

    /// The plan to carry out. Newer versions do not repeat the plan of the call here, and may have written it
    /// into a file of their own instead.
    fn plan_in(&self, request: &Request) -> String {
        let tool = self.tools.get(&request.tool_use_id);
        let told = request.input["plan"].as_str().or_else(|| tool?.call.input["plan"].as_str());
        let written = || self.requests.plan.as_ref().map(|(_, plan)| plan.as_str());
        told.filter(|plan| !plan.is_empty()).or_else(written).unwrap_or_default().to_owned()
    }

    /// Claude is about to write a file. If the file holds its plan, the driver remembers the plan.
    pub(super) fn plan_written(&mut self, input: &Value) {
        let Some(path) = diffs::path_of(input).filter(|path| path.contains("/plans/")) else { return };
        let known = self.requests.plan.take().filter(|(of, _)| of == path).map(|(_, plan)| plan);
        let plan = match diffs::edit_of(input) {
            Some(FileEdit::Write(plan)) => Some(plan),
            Some(FileEdit::Replace(all)) => known.and_then(|known| carried_out(&all, &known)),
            None => None,
        };
        self.requests.plan = plan.map(|plan| (path.to_owned(), plan));
    }

    /// The state of a file that the anchor could not read. Claude overwrites only files that it has read
    /// itself, so a file that Claude knows exists.
    fn unread(&self, input: &Value) -> Before<'static> {
        let known = diffs::path_of(input).is_some_and(|path| self.requests.known.contains(path));
        Before::Unread { there: known || input["content"].is_null() }
    }

    /// Requests the file of an approval.
    fn hold(&mut self, session: SessionId, path: &str, held: DeferredRequest, scribe: &mut Scribe<'_>) {
        self.requests.reads += 1;
        let id = HostRequestId(self.requests.reads);
        let root = self.home.as_ref().map(|home| home.cwd.clone()).unwrap_or_default();
        let job = Job::Look { path: path.to_owned() };
        self.requests.held.insert(id, held);
        scribe.out.host_requests.push(HostRequest { id, session, root, job });
    }

    /// Handles a file that the anchor has read or cannot read. The driver now asks for the approval.
    pub(super) fn file_read(
        &mut self,
        work: HostRequestId,
        result: Result<HostReply, HostFault>,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(DeferredRequest { id, mut request, mut draft, input, .. }) =
            self.requests.held.remove(&work)
        else {
            return;
        };
        // The request may be gone by now.
        let Some(session) = self.requests.open.get(&id).map(|ask| ask.session) else { return };
        let text = match result {
            Ok(HostReply::Read(text)) => Ok(text),
            Err(HostFault::Missing(_)) => Err(Before::Missing),
            Ok(
                HostReply::Written
                | HostReply::Running { .. }
                | HostReply::Output { .. }
                | HostReply::Ended(_)
                | HostReply::Killed
                | HostReply::Released,
            )
            | Err(
                HostFault::Outside(_)
                | HostFault::Unfit { .. }
                | HostFault::NoTerminal(_)
                | HostFault::Busy(_)
                | HostFault::Failed(_),
            ) => Err(self.unread(&input)),
        };
        let cwd = self.home.as_ref().map_or("", |home| home.cwd.as_str());
        let before = text.as_deref().map_or_else(|unread| *unread, Before::Text);
        request.subject = Subject::Edit { changes: diffs::wanted(&input, cwd, before), grant_root: None };
        draft.body = Body::ApprovalRequested(request);
        scribe.say(session, draft);
    }

    /// The deadline for the files that requests wait for.
    pub(super) fn reading_due(&self) -> Option<Timestamp> {
        self.requests.held.values().map(|held| held.due).min()
    }

    /// Asks for the approvals without the files that take too long.
    pub(super) fn give_up_reading(&mut self, scribe: &mut Scribe<'_>) {
        let late: Vec<HostRequestId> = self
            .requests
            .held
            .iter()
            .filter(|(_, held)| held.due <= scribe.cx.now)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            self.file_read(id, Err(HostFault::Failed("it takes too long".to_owned())), scribe);
        }
    }

    /// Remembers a file that Claude has read or written.
    pub(super) fn file_known(&mut self, input: &Value) {
        if let Some(path) = diffs::path_of(input).filter(|_| self.requests.known.len() < KNOWN_LIMIT) {
            self.requests.known.insert(path.to_owned());
        }
    }

    /// `control_cancel_request`: Claude withdraws a request.
    pub(super) fn cancelled(&mut self, line: &Line<'_>, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        if let Some(ask) = self.requests.take(&line.request_id) {
            let body = match ask.what {
                ClaudeRequestKind::Approval(approval) => Body::ApprovalExpired { approval },
                ClaudeRequestKind::Question(question) => Body::QuestionExpired { question },
            };
            let draft = Draft::new(body).turn(ask.turn).text("Claude Code no longer waits for an answer.");
            scribe.quote(ask.session, draft);
        }
        Ok(())
    }

    /// Handles a decision. Ignores it if the approval is gone.
    pub(super) fn decide(
        &mut self,
        approval: ApprovalId,
        decision: ApprovalDecision,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(id) = self.requests.approvals.get(&approval).cloned() else { return };
        let Some(ask) = self.requests.take(&id) else { return };
        let ApprovalDecision { decision, message, input, .. } = decision;
        if let Some(tool) = self.tools.get_mut(&ask.tool_use_id).filter(|_| !decision.allows()) {
            tool.denied = true;
        }
        if let Some(running) = self.running.as_mut().filter(|running| ask.turn == Some(running.id)) {
            running.cancelled |= decision == Decision::Cancel;
        }
        let reason = message.filter(|text| !text.is_empty()).unwrap_or_else(|| DENIED.to_owned());
        let yes = |input: Option<Value>| {
            let input = input.as_ref().filter(|input| input.is_object()).unwrap_or(&ask.input);
            json!({"behavior": "allow", "updatedInput": record(input)})
        };
        let answer = match decision {
            Decision::AllowOnce => yes(input),
            Decision::AllowSession | Decision::AllowAlways => {
                let mut answer = yes(input);
                let lasting = ask.lasting.clone().unwrap_or_else(|| tool_rule(&ask.tool_name));
                answer["updatedPermissions"] = json!([lasting]);
                answer
            }
            Decision::Deny => json!({"behavior": "deny", "message": reason}),
            Decision::Cancel => json!({"behavior": "deny", "message": reason, "interrupt": true}),
        };
        reply(&id, answer, scribe);
    }
}

/// The suggestion that makes an allowance last for the session. None if an allowance cannot last.
fn lasting(request: &Request) -> Option<Value> {
    if request.tool_name == tools::EXIT_PLAN {
        // With this allowance, Claude continues in the mode that changes files without asking.
        return Some(
            json!({"type": "setMode", "mode": native_mode(Mode::AutoEdit), "destination": "session"}),
        );
    }
    // In plan mode, Claude sends the request again, whatever the answer was.
    if request.decision_reason_type.as_deref() == Some("mode") || request.tool_name == tools::ASK_USER {
        return None;
    }
    let of_mode = |one: &&Value| one["type"] == "setMode" && one["destination"] == "session";
    let suggested = request.permission_suggestions.iter().find(of_mode).cloned();
    Some(suggested.unwrap_or_else(|| tool_rule(&request.tool_name)))
}

/// A rule for the whole tool, because Claude sends the request again in spite of narrower rules.
fn tool_rule(tool: &str) -> Value {
    json!({"type": "addRules", "rules": [{"toolName": tool}], "behavior": "allow", "destination": "session"})
}

/// The arguments as a JSON object. Claude requires an object, even if it sent something else.
pub(super) fn record(input: &Value) -> Value {
    if input.is_object() { input.clone() } else { json!({}) }
}

/// Answers a request of Claude.
pub(super) fn reply(id: &str, response: Value, scribe: &mut Scribe<'_>) {
    let response = json!({"subtype": "success", "request_id": id, "response": response});
    scribe.out.lines.push(json!({"type": "control_response", "response": response}).to_string());
}

/// Answers a request of Claude with an error.
fn refuse(id: &str, error: &str, scribe: &mut Scribe<'_>) {
    let response = json!({"subtype": "error", "request_id": id, "error": error});
    scribe.out.lines.push(json!({"type": "control_response", "response": response}).to_string());
}
