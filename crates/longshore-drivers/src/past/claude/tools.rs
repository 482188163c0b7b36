//! Calls of tools in a transcript: a block of the agent's begins one, a block of the answer ends it.

use std::fmt::Write;

use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, TurnId};
use longshore_model::item::{
    FileChange, FileChangeKind, FileDiff, PlanStatus, PlanStep, ToolCall, ToolKind, ToolOutcome, ToolStatus,
};
use longshore_model::lifecycle::{Delegation, DelegationEnd, TurnOutcome};
use serde_json::Value;

use super::super::Told;
use super::NAME;
use super::reader::{Transcript, words_of};
use crate::unified::{all_lines, short};

/// What the model is told of a command that printed nothing; people need not be.
const NO_OUTPUT: &str = "(Bash completed with no output)";
/// How the model is told of a call that was refused or stopped.
const REFUSED: &str = "The user doesn't want to ";
/// How the program itself notes the same.
const REJECTED: &str = "User rejected tool use";
/// How many calls of a turn may wait for their ends.
const WAITING: usize = 1_000;

/// A call that has not ended.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    turn: Option<TurnId>,
    item: ItemId,
    name: String,
    kind: ToolKind,
    input: Value,
}

impl Transcript {
    pub(super) fn tool_began(&mut self, block: &Value, told: &mut Told) {
        let (id, name) = (text(block, "id"), text(block, "name"));
        let (turn, item) = self.place(id);
        let kind = kind_of(name);
        let input = block["input"].clone();
        let command = input["command"].as_str().filter(|_| kind == ToolKind::Execute).map(str::to_owned);
        let call = ToolCall {
            name: name_of(name),
            kind,
            cwd: command.as_ref().map(|_| self.cwd.clone()),
            command,
            input: input.clone(),
        };
        let title = title_of(name, &call);
        told.say(Draft::new(Body::ToolStarted(call)).turn(turn).item(item).text(title));
        if name == "ExitPlanMode" && input["plan"].is_string() {
            let (turn, item) = self.place(&format!("{id} plan"));
            let draft = Draft::new(Body::PlanUpdated { steps: Vec::new() }).turn(turn).item(item);
            told.say(draft.text(text(&input, "plan")));
        }
        if self.tools.len() < WAITING {
            self.tools.insert(id.to_owned(), Tool { turn, item, name: name.to_owned(), kind, input });
        }
    }

    pub(super) fn tool_ended(&mut self, block: &Value, data: &Value, told: &mut Told) {
        let Some(tool) = self.tools.remove(text(block, "tool_use_id")) else { return };
        let said = words_of(&block["content"]);
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
            // The rest is told to the model alone: how to speak to the sub-agent again.
            ToolKind::Delegate if data["content"].is_array() => words_of(&data["content"]),
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
        let Tool { turn, item, name, kind, input } = tool;
        let place = |draft: Draft| draft.turn(turn).item(item);
        if kind == ToolKind::Edit && !failed {
            let changes = changes_of(&input, data, &self.cwd);
            if !changes.is_empty() {
                let diff = FileDiff { status: ToolStatus::Completed, changes };
                told.say(place(Draft::new(Body::FileDiff(diff))));
            }
        }
        if kind == ToolKind::Delegate
            && let Some(agent) = data["agentId"].as_str()
        {
            self.delegated(agent, &input, data["status"] == "completed", &output, place, told);
        }
        told.say(place(Draft::new(Body::ToolFinished(outcome))).text(output));
        let todos = data["newTodos"].as_array().or_else(|| input["todos"].as_array());
        if let Some(todos) = todos.filter(|_| name == "TodoWrite") {
            // One list for each turn, however often it changes.
            let (turn, item) = self.place("todos");
            let steps = todos.iter().map(step_of).collect();
            told.say(Draft::new(Body::PlanUpdated { steps }).turn(turn).item(item));
        }
    }

    /// The call gave work to a sub-agent, which has a transcript of its own.
    fn delegated(
        &mut self,
        agent: &str,
        input: &Value,
        ended: bool,
        result: &str,
        place: impl Fn(Draft) -> Draft,
        told: &mut Told,
    ) {
        let child = self.child(agent);
        let delegation = Delegation { child, agent: NAME.into() };
        told.say(place(Draft::new(Body::DelegationStarted(delegation)).text(text(input, "prompt"))));
        if ended {
            let end = DelegationEnd { child, outcome: TurnOutcome::Completed };
            told.say(place(Draft::new(Body::DelegationFinished(end)).text(result)));
        } else {
            self.children.insert(agent.to_owned());
        }
    }

    /// The program tells the agent what became of work in the background.
    pub(super) fn child_ended(&mut self, notification: &str, told: &mut Told) {
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
        told.say(draft.text(inside("result").or_else(|| inside("summary")).unwrap_or_default()));
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// `mcp__server__tool` is `server.tool`.
fn name_of(name: &str) -> String {
    match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("{server}.{tool}"),
        None => name.to_owned(),
    }
}

fn kind_of(name: &str) -> ToolKind {
    match name {
        "Bash" | "PowerShell" => ToolKind::Execute,
        "Read" | "NotebookRead" => ToolKind::Read,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => ToolKind::Edit,
        "Glob" | "Grep" | "LS" | "ToolSearch" => ToolKind::Search,
        "WebFetch" | "WebSearch" | "web_search" | "web_fetch" => ToolKind::Fetch,
        "Task" | "Agent" => ToolKind::Delegate,
        "TodoWrite" | "TodoRead" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" | "EnterPlanMode"
        | "ExitPlanMode" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

/// What a call does, in a line.
fn title_of(name: &str, call: &ToolCall) -> String {
    let fields = [
        "command",
        "file_path",
        "notebook_path",
        "pattern",
        "path",
        "url",
        "query",
        "description",
        "subject",
        "skill",
    ];
    let known = kind_of(name) != ToolKind::Other || name == "Skill";
    let said = fields.iter().map(|field| text(&call.input, field)).find(|said| known && !said.is_empty());
    said.map_or_else(|| call.name.clone(), str::to_owned)
}

/// `Exit code 3`, and the output that follows it.
fn exit_code(said: &str) -> Option<(i64, &str)> {
    let rest = said.strip_prefix("Exit code ")?;
    let (code, output) = rest.split_once('\n').unwrap_or((rest, ""));
    Some((code.trim().parse().ok()?, output))
}

/// What an edit changed: hunks where the file was there before, all of it where it was not.
fn changes_of(input: &Value, data: &Value, cwd: &str) -> Vec<FileChange> {
    let named = [&data["filePath"], &input["file_path"], &input["notebook_path"]];
    let Some(path) = named.into_iter().find_map(Value::as_str) else { return Vec::new() };
    let shown = short(path, cwd);
    let is_new = data["type"] == "create" || (data["originalFile"].is_null() && data["content"].is_string());
    let (kind, diff) = if is_new {
        let content = data["content"].as_str().unwrap_or_else(|| text(input, "content"));
        (FileChangeKind::Add, format!("--- /dev/null\n+++ b/{shown}\n{}", all_lines('+', content)))
    } else {
        let hunks: String = data["structuredPatch"].as_array().into_iter().flatten().map(hunk).collect();
        if hunks.is_empty() {
            return Vec::new();
        }
        (FileChangeKind::Update, format!("--- a/{shown}\n+++ b/{shown}\n{hunks}"))
    };
    vec![FileChange { path: path.to_owned(), kind, moved_to: None, diff }]
}

fn hunk(hunk: &Value) -> String {
    let number = |name: &str| hunk[name].as_u64().unwrap_or(0);
    let (old, new) = ((number("oldStart"), number("oldLines")), (number("newStart"), number("newLines")));
    let mut diff = format!("@@ -{},{} +{},{} @@\n", old.0, old.1, new.0, new.1);
    for line in hunk["lines"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        // Writing to a string cannot fail.
        let _ = writeln!(diff, "{line}");
    }
    diff
}

fn step_of(todo: &Value) -> PlanStep {
    let status = match text(todo, "status") {
        "completed" => PlanStatus::Completed,
        "in_progress" => PlanStatus::InProgress,
        _ => PlanStatus::Pending,
    };
    PlanStep { text: text(todo, "content").to_owned(), status }
}
