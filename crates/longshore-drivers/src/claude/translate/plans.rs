//! Claude's to-do lists. `TodoWrite` writes the whole list. The newer `Task` tools write one entry at a time,
//! so the driver has to keep the list.

use std::collections::BTreeMap;

use longshore_model::event::{Body, Draft};
use longshore_model::id::ItemId;
use longshore_model::item::{PlanStatus, PlanStep};
use serde_json::Value;

use super::Claude;
use super::conversation::ClaudeToolCall;
use crate::kit::Scribe;

/// The most entries that the driver keeps.
const TASK_LIMIT: usize = 500;

/// The entries that the `Task` tools wrote, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Tasks(BTreeMap<(u64, String), PlanStep>);

impl Claude {
    /// A tool that may have changed the list has ended.
    pub(super) fn plan_moved(&mut self, tool: &ClaudeToolCall, data: &Value, scribe: &mut Scribe<'_>) {
        let steps = match tool.name.as_str() {
            "TodoWrite" => {
                let written = data["newTodos"].as_array().or_else(|| tool.call.input["todos"].as_array());
                written.map(|todos| todos.iter().filter_map(|todo| step_of(todo, "content")).collect())
            }
            name => self.tasks.moved(name, &tool.call.input, data),
        };
        let (Some(steps), Some(conversation)) = (steps, self.conversations.get_mut(tool.conversation)) else {
            return;
        };
        let item = match conversation.plan {
            Some((turn, item)) if turn == tool.turn => item,
            Some(_) | None => ItemId::mint(&mut scribe.cx),
        };
        conversation.plan = Some((tool.turn, item));
        let body = Body::PlanUpdated { steps };
        scribe.say(conversation.session, Draft::new(body).turn(tool.turn).item(item));
    }
}

impl Tasks {
    /// The whole list, if it has changed.
    fn moved(&mut self, tool: &str, input: &Value, data: &Value) -> Option<Vec<PlanStep>> {
        match tool {
            "TaskCreate" => {
                let task = &data["task"];
                let step = step_of(task, "subject")?;
                if self.0.len() < TASK_LIMIT {
                    self.0.insert(key_of(&task["id"])?, step);
                }
            }
            "TaskUpdate" => {
                let key = key_of(&input["taskId"])?;
                if input["status"] == "deleted" {
                    self.0.remove(&key)?;
                } else {
                    let step = self.0.get_mut(&key)?;
                    if let Some(status) = input["status"].as_str() {
                        step.status = status_of(status);
                    }
                    if let Some(subject) = input["subject"].as_str() {
                        subject.clone_into(&mut step.text);
                    }
                }
            }
            "TaskList" => {
                let listed = data["tasks"].as_array()?.iter().take(TASK_LIMIT);
                let listed: BTreeMap<_, _> = listed
                    .filter_map(|task| Some((key_of(&task["id"])?, step_of(task, "subject")?)))
                    .collect();
                if listed == self.0 {
                    return None;
                }
                self.0 = listed;
            }
            _ => return None,
        }
        Some(self.0.values().cloned().collect())
    }
}

fn key_of(id: &Value) -> Option<(u64, String)> {
    let name = id.as_str().map(str::to_owned).or_else(|| id.as_u64().map(|id| id.to_string()))?;
    Some((name.parse().unwrap_or(u64::MAX), name))
}

fn step_of(entry: &Value, text: &str) -> Option<PlanStep> {
    let status = status_of(entry["status"].as_str().unwrap_or_default());
    Some(PlanStep { text: entry[text].as_str()?.to_owned(), status })
}

fn status_of(word: &str) -> PlanStatus {
    match word {
        "completed" => PlanStatus::Completed,
        "in_progress" => PlanStatus::InProgress,
        _ => PlanStatus::Pending,
    }
}
