//! Tool calls, from the model's arguments to the result that the model reads.
//!
//! The agent judges all calls of an answer at once, so a person gets all approvals together. The calls run in order.
//! Calls that only read run in parallel; they wait for earlier edits, but not for earlier commands. Clients see a call
//! when it begins, or when it needs an approval.

use longshore_model::approval::{ApprovalRequest, Decision, Field, QuestionRequest};
use longshore_model::delegation::Task;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, Context, ItemId, QuestionId, SessionId};
use longshore_model::item::{FileDiff, ToolCall, ToolKind, ToolStatus};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::turn::TurnPhase;
use super::{Effect, Effects, Machine, session_tools};
use crate::AgentLine;
use crate::tools::{CallApproval, CallVerdict, Permit, ToolInvocation, ToolResult, UNKNOWN};
use longshore_models::history::{HistoryItem, Output};

/// The longest id of a call that the agent takes from a model.
const LONGEST_ID: usize = 16 << 10;

/// A call that the agent has not finished.
#[derive(Debug)]
pub(super) struct Acting {
    pub(super) id: String,
    pub(super) item: ItemId,
    pub(super) name: String,
    pub(super) arguments: Value,
    side_by_side: bool,
    /// Whether the call runs a command. Calls that only read do not wait for it.
    runs_command: bool,
    /// The form of the call for clients, until they see it.
    shown: Option<ToolCall>,
    pub(super) stage: CallStage,
    began: Timestamp,
}

/// The stage of a call.
#[derive(Debug)]
pub(super) enum CallStage {
    /// The agent judges the call.
    Weighing,
    /// The agent waits for a person's decision.
    Asked { approval: ApprovalId, always: Vec<String> },
    /// The call is a question to a person, who has not answered.
    Questioned(QuestionId),
    /// The call may run as soon as earlier calls allow it.
    Ready(Permit),
    /// The call runs.
    Running,
    /// Another session will do the call when a place is free.
    Lined(Task),
    /// Another session does the call.
    Delegated { child: Option<SessionId>, task: String },
    /// The call has a result.
    Done,
}

impl Acting {
    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, CallStage::Done)
    }

    pub(super) fn to_call(&self) -> ToolInvocation {
        ToolInvocation { id: self.id.clone(), name: self.name.clone(), arguments: self.arguments.clone() }
    }
}

impl Machine {
    /// The model calls a tool.
    pub(super) fn call(
        &mut self,
        id: Option<String>,
        name: String,
        arguments: String,
        step: u64,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) {
        let id = self.unique(id, cx);
        let item = ItemId::mint(cx);
        let Some((setup, turn)) = self.setup.as_ref().zip(self.turn.as_mut()) else { return };
        let name = setup.offered(name);
        let read = read_arguments(&arguments);
        let input = read.clone().unwrap_or_else(|_| Value::from(arguments.as_str()));
        let call = ToolInvocation { id: id.clone(), name: name.clone(), arguments: input.clone() };
        let shown = match session_tools::is_own(&name) {
            true => session_tools::shown(&call),
            false if read.is_ok() => (setup.describe)(&call),
            false => ToolCall { name: name.clone(), kind: ToolKind::Other, command: None, cwd: None, input },
        };
        let known = setup.tools.iter().find(|tool| tool.name == name);
        turn.calls.push(Acting {
            id: id.clone(),
            item,
            name: name.clone(),
            arguments: call.arguments.clone(),
            side_by_side: known.is_some_and(|tool| tool.side_by_side),
            runs_command: shown.kind == ToolKind::Execute,
            shown: Some(shown),
            stage: CallStage::Weighing,
            began: cx.now,
        });
        turn.owes = true;
        let mode = setup.mode;
        self.say(
            AgentLine::history(HistoryItem::FunctionCall { step, call_id: id.clone(), name, arguments }),
            out,
        );
        match read {
            Ok(_) if session_tools::is_own(&call.name) => {
                // A delegation may have to wait. Clients see it when it begins.
                if !session_tools::is_delegation(&call.name) {
                    self.show(&id, out);
                }
                self.own(&call, cx, out);
            }
            Ok(_) => out.push(Effect::Weigh { call, mode }),
            Err(fault) => {
                let why = format!("the arguments of {} are no JSON object: {fault}", call.name);
                self.finish_call(&id, ToolResult::failed(why), out);
            }
        }
    }

    /// The model's id of a call. The agent makes an id if the model sent none, or one that an earlier call has.
    fn unique(&self, id: Option<String>, cx: &mut Context<'_>) -> String {
        let fits =
            |id: &String| !id.trim().is_empty() && id.len() <= LONGEST_ID && !self.history.has_call(id);
        id.filter(fits).unwrap_or_else(|| format!("call_{}", ItemId::mint(cx).0.simple()))
    }

    /// Shows clients a call that begins. They see each call begin once.
    pub(super) fn show(&mut self, id: &str, out: &mut Effects) {
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let Some(call) = self.acting(id) else { return };
        let (item, shown) = (call.item, call.shown.take());
        if let Some(shown) = shown {
            self.say(AgentLine::draft(Draft::new(Body::ToolStarted(shown)).turn(turn).item(item)), out);
        }
    }

    fn acting(&mut self, id: &str) -> Option<&mut Acting> {
        self.turn.as_mut()?.calls.iter_mut().find(|call| call.id == id && !call.is_done())
    }

    pub(super) fn weighed(
        &mut self,
        id: &str,
        verdict: CallVerdict,
        preview: Option<FileDiff>,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) {
        let mode = self.setup.as_ref().map(|setup| setup.mode).unwrap_or_default();
        let Some(call) = self.acting(id).filter(|call| matches!(call.stage, CallStage::Weighing)) else {
            return;
        };
        match verdict {
            CallVerdict::Go => call.stage = CallStage::Ready(Permit { mode, approved: false }),
            CallVerdict::Ask(ask) => self.ask_person(id, ask, preview, cx, out),
            CallVerdict::Refuse(why) => {
                let why = self.with_own_tools(why);
                self.finish_call(id, ToolResult::failed(why), out);
            }
        }
        self.schedule(cx, out);
    }

    /// Adds the machine's own tools to a refusal that lists all tools: the judge does not know them.
    fn with_own_tools(&self, why: String) -> String {
        let Some(setup) = self.setup.as_ref().filter(|_| why.starts_with(UNKNOWN)) else { return why };
        let own = setup
            .tools
            .iter()
            .filter(|tool| session_tools::is_own(&tool.name))
            .map(|tool| tool.name.as_str());
        format!("{why}, {}", own.collect::<Vec<_>>().join(", "))
    }

    fn ask_person(
        &mut self,
        id: &str,
        ask: CallApproval,
        preview: Option<FileDiff>,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) {
        self.show(id, out);
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let Some(call) = self.acting(id) else { return };
        let CallApproval { reason, risks, subject, always } = ask;
        let approval = ApprovalId::mint(cx);
        let item = call.item;
        let mut options = vec![Decision::AllowOnce];
        if !always.is_empty() {
            options.push(Decision::AllowSession);
        }
        options.extend([Decision::Deny, Decision::Cancel]);
        call.stage = CallStage::Asked { approval, always };
        let risks: Vec<&str> = risks.into_iter().map(|risk| risk.text()).collect();
        let reason = match risks.is_empty() {
            true => reason,
            false => format!("{reason} ({})", risks.join(", ")),
        };
        if let Some(preview) = preview {
            let shown = FileDiff { status: ToolStatus::Running, ..preview };
            self.say(AgentLine::draft(Draft::new(Body::FileDiff(shown)).turn(turn).item(item)), out);
        }
        let request = ApprovalRequest { approval, subject, options };
        let draft = Draft::new(Body::ApprovalRequested(request)).turn(turn).item(item).text(reason);
        self.say(AgentLine::draft(draft), out);
    }

    /// Begins the calls that may begin, and continues the turn when all calls are done.
    pub(super) fn schedule(&mut self, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(turn) = &mut self.turn else { return };
        let (mut earlier, mut earlier_edits) = (false, false);
        let mut begun = Vec::new();
        for call in &mut turn.calls {
            let may = if call.side_by_side { !earlier_edits } else { !earlier };
            if let (CallStage::Ready(permit), true) = (&call.stage, may) {
                begun.push((call.to_call(), *permit));
                call.stage = CallStage::Running;
                call.began = cx.now;
            }
            earlier |= !call.is_done();
            earlier_edits |= !call.is_done() && !call.side_by_side && !call.runs_command;
        }
        let rests = !earlier && matches!(turn.state, TurnPhase::Acting);
        for (call, permit) in begun {
            self.show(&call.id, out);
            out.push(Effect::Run { call, permit });
        }
        self.begin_lined(out);
        if rests {
            self.go_on(cx, out);
        }
    }

    pub(super) fn printed(&mut self, id: &str, text: String, out: &mut Effects) {
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let Some(call) = self.acting(id).filter(|call| matches!(call.stage, CallStage::Running)) else {
            return;
        };
        let draft = Draft::new(Body::ToolOutputDelta).turn(turn).item(call.item).text(text);
        self.say(AgentLine::draft(draft), out);
    }

    #[allow(clippy::too_many_arguments, reason = "it is an input, field by field")]
    pub(super) fn elicits(
        &mut self,
        id: &str,
        asker: u64,
        source: String,
        text: String,
        fields: Vec<Field>,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) {
        if self.acting(id).is_none() {
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        let question = QuestionId::mint(cx);
        turn.wondering.push((question, asker));
        let request = QuestionRequest { question, source: Some(source), fields };
        let draft = Draft::new(Body::QuestionAsked(request)).turn(turn.id).text(text);
        self.say(AgentLine::draft(draft), out);
    }

    pub(super) fn ran(&mut self, id: &str, result: ToolResult, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(call) = self.acting(id).filter(|call| matches!(call.stage, CallStage::Running)) else {
            return;
        };
        let took = cx.now.millis_since(call.began);
        let mut result = result;
        result.outcome.duration_ms.get_or_insert(took);
        self.finish_call(id, result, out);
        self.schedule(cx, out);
    }

    /// Records the result of a call.
    pub(super) fn finish_call(&mut self, id: &str, result: ToolResult, out: &mut Effects) {
        self.show(id, out);
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let Some(call) = self.acting(id) else { return };
        call.stage = CallStage::Done;
        let item = call.item;
        let ToolResult { content, whole, success, mut outcome, diff, images } = result;
        // Clients show the pictures that the model gets.
        outcome.attachments = images.clone();
        if let Some(diff) = diff {
            self.say(AgentLine::draft(Draft::new(Body::FileDiff(diff)).turn(turn).item(item)), out);
        }
        let output = Output { content, success, images };
        let finished = Draft::new(Body::ToolFinished(outcome)).turn(turn).item(item).text(whole);
        let remembered = HistoryItem::FunctionCallOutput { call_id: id.to_owned(), output };
        self.say(AgentLine::draft(finished).remember(remembered), out);
    }
}

/// The arguments that the model meant. An empty text means no arguments.
fn read_arguments(arguments: &str) -> Result<Value, String> {
    if arguments.trim().is_empty() {
        return Ok(json!({}));
    }
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Ok(Value::Object(object)),
        Ok(Value::Null) => Ok(json!({})),
        // Some models encode the arguments twice.
        Ok(Value::String(inner)) => {
            serde_json::from_str(&inner).map(Value::Object).map_err(|_| format!("they are a text: {inner}"))
        }
        Ok(other) => Err(format!("they are {other}")),
        Err(error) => Err(error.to_string()),
    }
}
