//! Calls as the model made them. The reader needs them if no item reports a call: in older rollouts, and for
//! calls that a person refused. A list of steps appears only in its call.

use std::collections::{HashMap, HashSet};

use longshore_model::event::{Body, Draft, Raw};
use longshore_model::item::{PlanStatus, PlanStep, ToolCall, ToolOutcome, ToolStatus};
use serde::Deserialize;
use serde_json::Value;

use super::reader::Rollout;
use super::{PayloadKind, RolloutLine};
use crate::codex::translate::tools;
use crate::import::Reading;

/// The text that tells the model of a refused call.
const REFUSED: &str = "rejected by user";
/// How many calls of a turn may be without output.
const WAITING: usize = 1_000;

/// The calls of a turn.
#[derive(Debug, Default)]
pub(super) struct RolloutCalls {
    waiting: HashMap<String, ToolCall>,
    told: HashSet<String>,
}

impl RolloutCalls {
    /// Notes that an item or an output reports a call. Returns whether one did so before.
    pub(super) fn told(&mut self, id: &str) -> bool {
        !id.is_empty() && !self.told.insert(id.to_owned())
    }
}

/// A `response_item`: the fields of calls and outputs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Called {
    call_id: String,
    name: String,
    /// JSON in a string.
    arguments: Option<String>,
    input: Option<String>,
    action: Value,
    output: Value,
}

/// `update_plan`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Plan {
    explanation: Option<String>,
    plan: Vec<RolloutPlanStep>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RolloutPlanStep {
    step: String,
    status: String,
}

impl Rollout {
    pub(super) fn model_item(
        &mut self,
        parsed: &RolloutLine<'_>,
        line: &Raw,
        reading: &mut Reading,
    ) -> Result<(), serde_json::Error> {
        let PayloadKind { kind } = serde_json::from_str(parsed.payload.get())?;
        match &*kind {
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                let called: Called = serde_json::from_str(parsed.payload.get())?;
                if called.name == "update_plan" {
                    return self.planned(&called, line, reading);
                }
                if self.calls.waiting.len() < WAITING && !called.call_id.is_empty() {
                    self.calls.waiting.insert(called.call_id.clone(), call_of(&called, &self.cwd));
                }
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                let called: Called = serde_json::from_str(parsed.payload.get())?;
                self.answered(&called, line, reading);
            }
            _ => {}
        }
        Ok(())
    }

    fn planned(
        &mut self,
        called: &Called,
        line: &Raw,
        reading: &mut Reading,
    ) -> Result<(), serde_json::Error> {
        let Plan { explanation, plan } = serde_json::from_str(called.arguments.as_deref().unwrap_or("{}"))?;
        let steps = plan.into_iter().map(|RolloutPlanStep { step, status }| PlanStep {
            text: step,
            status: match status.as_str() {
                "completed" => PlanStatus::Completed,
                "in_progress" => PlanStatus::InProgress,
                _ => PlanStatus::Pending,
            },
        });
        // Each turn has one list, however often it changes.
        let (turn, item) = self.place(None, "update_plan");
        let mut draft = Draft::new(Body::PlanUpdated { steps: steps.collect() }).turn(turn).item(item);
        draft.text = explanation;
        reading.say(draft.raw(line.clone()));
        Ok(())
    }

    fn answered(&mut self, called: &Called, line: &Raw, reading: &mut Reading) {
        let Some(call) = self.calls.waiting.remove(&called.call_id) else { return };
        let (output, exit_code) = output_of(&called.output);
        let refused = output.contains(REFUSED) && output.len() < 1_000;
        if (self.whole && !refused) || self.calls.told(&called.call_id) {
            return;
        }
        let status = match exit_code {
            _ if refused => ToolStatus::Declined,
            Some(0) | None => ToolStatus::Completed,
            Some(_) => ToolStatus::Failed,
        };
        let (turn, item) = self.place(None, &called.call_id);
        if let Some(turn) = &mut self.turn {
            turn.answered = false;
        }
        let title = call.command.clone().unwrap_or_else(|| call.name.clone());
        reading.say(Draft::new(Body::ToolStarted(call)).turn(turn).item(item).text(title));
        let outcome = ToolOutcome { exit_code, ..ToolOutcome::of(status) };
        let text = if refused { String::new() } else { output };
        reading
            .say(Draft::new(Body::ToolFinished(outcome)).turn(turn).item(item).text(text).raw(line.clone()));
    }
}

fn call_of(called: &Called, cwd: &str) -> ToolCall {
    let arguments = called.arguments.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let input = match (arguments, &called.input) {
        (Some(arguments), _) => arguments,
        (None, Some(input)) => Value::String(input.clone()),
        (None, None) if !called.action.is_null() => called.action.clone(),
        (None, None) => called.arguments.clone().map_or(Value::Null, Value::String),
    };
    let name = if called.name.is_empty() { "local_shell" } else { called.name.as_str() };
    tools::called(name, input, cwd)
}

/// The printed text of a command, without the lines that tell the model how it ran.
fn shown(text: &str) -> &str {
    let told = ["Exit code: ", "Chunk ID: ", "Wall time: "].iter().any(|head| text.starts_with(head));
    text.split_once("\nOutput:\n").filter(|_| told).map_or(text, |(_, printed)| printed)
}

/// The text of an output, and its exit code. Some outputs are `{"output":..,"metadata":{"exit_code":..}}` in
/// a string, others are lists of parts.
fn output_of(output: &Value) -> (String, Option<i64>) {
    match output {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(told) if told["output"].is_string() => {
                let code = told["metadata"]["exit_code"].as_i64();
                (told["output"].as_str().unwrap_or_default().to_owned(), code)
            }
            Ok(_) | Err(_) => {
                let code = text.lines().find_map(|line| {
                    let code = line
                        .strip_prefix("Exit code: ")
                        .or_else(|| line.strip_prefix("Process exited with code "));
                    code.and_then(|code| code.trim().parse().ok())
                });
                (shown(text).to_owned(), code)
            }
        },
        Value::Array(parts) => {
            let words: Vec<_> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            (words.join("\n"), None)
        }
        Value::Object(fields) => {
            let words = fields.get("content").and_then(Value::as_str).unwrap_or_default();
            (words.to_owned(), None)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (String::new(), None),
    }
}
