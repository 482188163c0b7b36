//! The parts of a turn: messages, thoughts, lists of steps, changes, tool calls.

use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::item::{
    FileChange, FileChangeKind, FileDiff, PlanStatus, PlanStep, ToolCall, ToolOutcome, ToolStatus,
};
use serde_json::Value;

use super::{ExecConversation, WireError};
use crate::codex::exec::wire::{Called, Change, Fields, Returned, Step, Todo};
use crate::codex::translate::tools::{call_of, called, outcome_of, status_of, title_of};
use crate::codex::wire::snake;
use crate::kit::Scribe;

impl ExecConversation {
    pub(super) fn item(
        &mut self,
        step: Step,
        mut item: Fields,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let (changes, todos) = (item.remove("changes"), item.remove("items"));
        let message = item.get("message").and_then(Value::as_str).map(str::to_owned);
        let item = snake::item_of(item)?;
        let (session, turn) = (self.launch.session, running.turn);
        let (known, fresh) = running.item(&item.id, &mut scribe.cx);
        if !known.open {
            return Ok(());
        }
        let id = known.id;
        let draft = match (item.kind.as_str(), step) {
            ("agentMessage", Step::Started) if fresh => Draft::new(Body::MessageStarted),
            ("agentMessage", Step::Completed) => {
                Draft::new(Body::MessageDone { phase: None, partial: false }).text(item.text)
            }
            ("reasoning", Step::Started) if fresh => Draft::new(Body::ReasoningStarted),
            ("reasoning", Step::Completed) => {
                Draft::new(Body::ReasoningDone { partial: false }).text(item.text)
            }
            ("agentMessage" | "reasoning", Step::Started | Step::Updated) => return Ok(()),
            ("todoList", _) => {
                let todos: Vec<Todo> = serde_json::from_value(todos.unwrap_or_default())?;
                let steps = steps_of(todos);
                known.open = step != Step::Completed;
                // Codex repeats the list at the end of the turn.
                if known.plan.as_ref() == Some(&steps) {
                    return Ok(());
                }
                known.plan = Some(steps.clone());
                Draft::new(Body::PlanUpdated { steps })
            }
            ("fileChange", _) => {
                let changes: Vec<Change> = serde_json::from_value(changes.unwrap_or_default())?;
                let status = status_of(&item, step != Step::Completed);
                let changes = changes.into_iter().map(change_of).collect();
                Draft::new(Body::FileDiff(FileDiff { status, changes }))
            }
            ("error", Step::Completed) => {
                known.open = false;
                let text = message.unwrap_or(item.text);
                self.notice(NoticeLevel::Warning, text, scribe);
                return Ok(());
            }
            (_, step) => {
                let Some(call) = call_of(&item) else { return Ok(()) };
                let news = match &known.call {
                    None => Some(Body::ToolStarted(call.clone())),
                    Some(told) if *told != call => Some(Body::ToolUpdated(call.clone())),
                    Some(_) => None,
                };
                known.call = Some(call.clone());
                let news = news.map(|body| Draft::new(body).text(title_of(&item, &call)));
                match step {
                    Step::Started | Step::Updated => match news {
                        Some(draft) => draft,
                        None => return Ok(()),
                    },
                    Step::Completed => {
                        if let Some(draft) = news {
                            scribe.say(session, draft.turn(turn).item(id));
                        }
                        let (outcome, text) = outcome_of(item);
                        let mut draft = Draft::new(Body::ToolFinished(outcome));
                        draft.text = text;
                        draft
                    }
                }
            }
        };
        known.open &= step != Step::Completed;
        scribe.quote(session, draft.turn(turn).item(id));
        Ok(())
    }

    /// Handles a tool call in the form of an old release.
    pub(super) fn called(&mut self, call: Called, scribe: &mut Scribe<'_>) {
        let Some(running) = &mut self.running else { return };
        let Called { id, name, arguments } = call;
        if id.is_empty() {
            // Calls without an id are different calls.
            running.items.remove("");
        }
        let turn = running.turn;
        let (known, fresh) = running.item(&id, &mut scribe.cx);
        if fresh {
            let call = called(&name, arguments, &self.launch.cwd);
            known.call = Some(call.clone());
            let title = call.command.clone().unwrap_or(name);
            let draft = Draft::new(Body::ToolStarted(call)).turn(turn).item(known.id).text(title);
            scribe.quote(self.launch.session, draft);
        }
    }

    /// Handles the end of a tool call in the form of an old release.
    pub(super) fn returned(&mut self, result: Returned, scribe: &mut Scribe<'_>) {
        let Some(running) = &mut self.running else { return };
        let Returned { id, ok, output, error } = result;
        let (session, turn) = (self.launch.session, running.turn);
        let (known, fresh) = running.item(&id, &mut scribe.cx);
        if !known.open {
            return;
        }
        known.open = false;
        let item = known.id;
        if fresh {
            scribe.say(session, Draft::new(Body::ToolStarted(ToolCall::unknown())).turn(turn).item(item));
        }
        let (printed, data) = match output {
            Value::String(text) => (Some(text), Value::Null),
            data => (None, data),
        };
        let status = if ok { ToolStatus::Completed } else { ToolStatus::Failed };
        let outcome = ToolOutcome { result: data, ..ToolOutcome::of(status) };
        let mut draft = Draft::new(Body::ToolFinished(outcome)).turn(turn).item(item);
        draft.text = match (printed, error) {
            (Some(printed), Some(error)) => Some(format!("{printed}\n{error}")),
            (printed, error) => printed.or(error),
        };
        scribe.quote(session, draft);
    }
}

fn steps_of(todos: Vec<Todo>) -> Vec<PlanStep> {
    let step = |todo: Todo| PlanStep {
        text: todo.text,
        status: if todo.completed { PlanStatus::Completed } else { PlanStatus::Pending },
    };
    todos.into_iter().map(step).collect()
}

/// The change of a file. Codex reports the file and the kind, but not the content of the change.
fn change_of(change: Change) -> FileChange {
    let kind = match change.kind.as_str() {
        "add" => FileChangeKind::Add,
        "delete" => FileChangeKind::Delete,
        _ => FileChangeKind::Update,
    };
    FileChange { path: change.path, kind, moved_to: None, diff: String::new() }
}
