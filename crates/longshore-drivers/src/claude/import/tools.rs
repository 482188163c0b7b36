//! Tool calls in a transcript. A block of the agent's message begins a call, and a block of the user's
//! message ends it.

use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, TurnId};
use longshore_model::item::{FileDiff, PlanStatus, PlanStep, ToolKind, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{Delegation, DelegationEnd, TurnOutcome};
use serde_json::Value;

use super::reader::Transcript;
use crate::claude::name;
use crate::claude::translate::diffs;
use crate::claude::translate::tools::{
    EXIT_PLAN, NO_OUTPUT, REJECTED, call_of, exit_code, text_of, title_of,
};
use crate::import::Reading;

/// How the result begins that tells the model of a refused call.
const REFUSED: &str = "The user doesn't want to ";
/// How many calls of a turn may be unfinished.
const WAITING: usize = 1_000;

/// A call that has not ended.
#[derive(Clone, Debug)]
pub(super) struct TranscriptCall {
    turn: Option<TurnId>,
    item: ItemId,
    name: String,
    kind: ToolKind,
    input: Value,
}

impl Transcript {
    pub(super) fn tool_began(&mut self, block: &Value, reading: &mut Reading) {
        let (id, name) = (text(block, "id"), text(block, "name"));
        let (turn, item) = self.place(id);
        let input = block["input"].clone();
        let call = call_of(name, &input, Some(&self.cwd));
        let kind = call.kind;
        let title = title_of(name, &call);
        reading.say(Draft::new(Body::ToolStarted(call)).turn(turn).item(item).text(title));
        if name == EXIT_PLAN && input["plan"].is_string() {
            let (turn, item) = self.place(&format!("{id} plan"));
            let draft = Draft::new(Body::PlanUpdated { steps: Vec::new() }).turn(turn).item(item);
            reading.say(draft.text(text(&input, "plan")));
        }
        if let Some(open) = self.turn.as_mut().map(|turn| &mut turn.tools).filter(|open| open.len() < WAITING)
        {
            open.insert(id.to_owned(), TranscriptCall { turn, item, name: name.to_owned(), kind, input });
        }
    }

    pub(super) fn tool_ended(&mut self, block: &Value, data: &Value, reading: &mut Reading) {
        let open = self.turn.as_mut().and_then(|turn| turn.tools.remove(text(block, "tool_use_id")));
        let Some(tool) = open else { return };
        let said = text_of(&block["content"]);
        let failed = block["is_error"] == true;
        let refused = failed && (said.starts_with(REFUSED) || *data == REJECTED);
        let mut outcome = ToolOutcome::of(match (failed, refused) {
            (false, _) => ToolStatus::Completed,
            (true, true) => ToolStatus::Declined,
            (true, false) => ToolStatus::Failed,
        });
        outcome.duration_ms = data["totalDurationMs"].as_u64().or_else(|| data["durationMs"].as_u64());
        let output = match tool.kind {
            ToolKind::Execute if said == NO_OUTPUT => String::new(),
            ToolKind::Execute if failed => match exit_code(&said) {
                Some((code, output)) => {
                    outcome.exit_code = Some(code);
                    output.to_owned()
                }
                None => said,
            },
            // The rest is only for the model: how it can write to the sub-agent again.
            ToolKind::Delegate if data["content"].is_array() => text_of(&data["content"]),
            ToolKind::Delegate => said.lines().next().unwrap_or_default().to_owned(),
            ToolKind::Execute
            | ToolKind::Read
            | ToolKind::Edit
            | ToolKind::Delete
            | ToolKind::Move
            | ToolKind::Search
            | ToolKind::Fetch
            | ToolKind::Think
            | ToolKind::Other => said,
        };
        let TranscriptCall { turn, item, name, kind, input } = tool;
        let place = |draft: Draft| draft.turn(turn).item(item);
        if kind == ToolKind::Edit && !failed {
            let changes = diffs::made(&input, data, &self.cwd);
            if !changes.is_empty() {
                let diff = FileDiff { status: ToolStatus::Completed, changes };
                reading.say(place(Draft::new(Body::FileDiff(diff))));
            }
        }
        if kind == ToolKind::Delegate
            && let Some(agent) = data["agentId"].as_str()
        {
            self.delegated(agent, &input, data["status"] == "completed", &output, place, reading);
        }
        reading.say(place(Draft::new(Body::ToolFinished(outcome))).text(output));
        let todos = data["newTodos"].as_array().or_else(|| input["todos"].as_array());
        if let Some(todos) = todos.filter(|_| name == "TodoWrite") {
            // Each turn has one list, however often it changes.
            let (turn, item) = self.place("todos");
            let steps = todos.iter().map(step_of).collect();
            reading.say(Draft::new(Body::PlanUpdated { steps }).turn(turn).item(item));
        }
    }

    /// The call delegated work to a sub-agent, which has its own transcript.
    fn delegated(
        &mut self,
        agent: &str,
        input: &Value,
        ended: bool,
        result: &str,
        place: impl Fn(Draft) -> Draft,
        reading: &mut Reading,
    ) {
        let child = self.child(agent);
        let delegation = Delegation { child, agent: name() };
        reading.say(place(Draft::new(Body::DelegationStarted(delegation)).text(text(input, "prompt"))));
        if ended {
            let end = DelegationEnd { child, outcome: TurnOutcome::Completed };
            reading.say(place(Draft::new(Body::DelegationFinished(end)).text(result)));
        } else {
            self.children.insert(agent.to_owned());
        }
    }

    /// Claude Code tells the agent how background work ended.
    pub(super) fn child_ended(&mut self, notification: &str, reading: &mut Reading) {
        let inside = |tag: &str| {
            let (_, rest) = notification.split_once(&format!("<{tag}>"))?;
            rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner)
        };
        let Some(agent) = inside("task-id").filter(|agent| self.children.remove(*agent)) else { return };
        let outcome = match inside("status") {
            Some("completed") => TurnOutcome::Completed,
            Some("killed" | "stopped") => TurnOutcome::Interrupted,
            Some(_) | None => TurnOutcome::Failed,
        };
        let end = DelegationEnd { child: self.child(agent), outcome };
        let draft = Draft::new(Body::DelegationFinished(end)).turn(self.turn.as_ref().map(|turn| turn.id));
        reading.say(draft.text(inside("result").or_else(|| inside("summary")).unwrap_or_default()));
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn step_of(todo: &Value) -> PlanStep {
    let status = match text(todo, "status") {
        "completed" => PlanStatus::Completed,
        "in_progress" => PlanStatus::InProgress,
        _ => PlanStatus::Pending,
    };
    PlanStep { text: text(todo, "content").to_owned(), status }
}
