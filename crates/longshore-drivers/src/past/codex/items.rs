//! Items of rollouts: what the app-server tells of them, in other letters. `CommandExecution` is `commandExecution` and
//! `exit_code` is `exitCode`; a command is a list of words, a duration has seconds and nanoseconds.

use std::collections::BTreeMap;

use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft, MessagePhase, Raw};
use longshore_model::id::SessionId;
use longshore_model::item::FileDiff;
use longshore_model::lifecycle::{Delegation, DelegationEnd, TurnOutcome};
use serde_json::{Map, Value, json};

use super::super::Told;
use super::reader::Rollout;
use crate::codex::translate::diffs;
use crate::codex::translate::items::{COMPACTED, phase_of, user_message};
use crate::codex::translate::tools::{call_of, outcome_of, status_of, title_of};
use crate::codex::wire::{Item, OldChange};
use crate::codex::{NAME, name};

impl Rollout {
    /// An item is complete.
    pub(super) fn item(
        &mut self,
        turn: Option<String>,
        mut item: Map<String, Value>,
        line: &Raw,
        told: &mut Told,
    ) -> Result<(), serde_json::Error> {
        let changes = item.remove("changes");
        let item = of_theirs(item)?;
        let key = if item.id.is_empty() { self.line_name() } else { item.id.clone() };
        let (turn_id, id) = self.place(turn.as_deref(), &key);
        let known = self.calls.told(&item.id);
        let draft = match item.kind.as_str() {
            "userMessage" => user_message(&item),
            "agentMessage" => {
                let words = |part: &Value| part["text"].as_str().map(str::to_owned);
                let text: String = item.content.iter().filter_map(words).collect();
                let text = if text.is_empty() { item.text } else { text };
                let body = Body::MessageDone { phase: phase_of(item.phase.as_deref()), partial: false };
                Draft::new(body).text(text)
            }
            "exitedReviewMode" => {
                let body = Body::MessageDone { phase: Some(MessagePhase::FinalAnswer), partial: false };
                Draft::new(body).text(item.review.unwrap_or_default())
            }
            "plan" => Draft::new(Body::PlanUpdated { steps: Vec::new() }).text(item.text),
            "reasoning" => {
                let content = item.content.iter().filter_map(Value::as_str).collect::<Vec<_>>();
                let text =
                    if item.summary.is_empty() { content.join("\n\n") } else { item.summary.join("\n\n") };
                Draft::new(Body::ReasoningDone { partial: false }).text(text)
            }
            "fileChange" => {
                let changes: BTreeMap<String, OldChange> =
                    serde_json::from_value(changes.unwrap_or_default())?;
                let changes = diffs::old_changes(&changes, &self.cwd);
                Draft::new(Body::FileDiff(FileDiff { status: status_of(&item, false), changes }))
            }
            "contextCompaction" => {
                self.notice(COMPACTED, turn_id, line, told);
                return Ok(());
            }
            _ => {
                let Some(call) = call_of(&item) else { return Ok(()) };
                if !known {
                    let title = title_of(&item, &call);
                    told.say(Draft::new(Body::ToolStarted(call)).turn(turn_id).item(id).text(title));
                }
                if item.kind == "collabAgentToolCall" {
                    self.collaborated(&item, |draft| told.say(draft.turn(turn_id).item(id)));
                }
                let (outcome, text) = outcome_of(item);
                let mut draft = Draft::new(Body::ToolFinished(outcome));
                draft.text = text;
                draft
            }
        };
        let answers = matches!(draft.body, Body::MessageDone { .. });
        if let Some(turn) = &mut self.turn {
            turn.answered = answers;
        }
        told.say(draft.turn(turn_id).item(id).raw(line.clone()));
        Ok(())
    }

    /// A call by which this thread deals with others, each of which has a rollout of its own.
    fn collaborated(&mut self, call: &Item, mut say: impl FnMut(Draft)) {
        let gives_work = matches!(
            call.tool.as_str(),
            "spawnAgent" | "sendInput" | "resumeAgent" | "followupTask" | "sendMessage"
        );
        let of = |child: &str| SessionId::of_past(NAME, child);
        for child in call.receiver_thread_ids.iter().filter(|_| gives_work) {
            if self.children.insert(child.clone()) {
                let delegation = Delegation { child: of(child), agent: name() };
                let task = call.prompt.clone().unwrap_or_default();
                say(Draft::new(Body::DelegationStarted(delegation)).text(task));
            }
        }
        for (child, state) in &call.agents_states {
            let outcome = match state.status.as_str() {
                "completed" | "shutdown" => TurnOutcome::Completed,
                "interrupted" => TurnOutcome::Interrupted,
                "errored" | "notFound" => TurnOutcome::Failed,
                _ => continue,
            };
            if self.children.remove(child) {
                let end = DelegationEnd { child: of(child), outcome };
                let mut draft = Draft::new(Body::DelegationFinished(end));
                draft.text.clone_from(&state.message);
                say(draft);
            }
        }
    }
}

/// An item of a rollout as the app-server would tell it, but for its changes.
pub(super) fn of_theirs(item: Map<String, Value>) -> Result<Item, serde_json::Error> {
    // The tools of codex itself are in other letters; a server's are as the server calls them.
    let own_tool = item.get("type").is_some_and(|kind| kind == "CollabAgentToolCall");
    let mut fields = Map::new();
    for (name, value) in item {
        let value = match (name.as_str(), value) {
            ("type", Value::String(kind)) => Value::String(small(&kind)),
            ("status" | "source", Value::String(word)) => Value::String(camel_word(&word)),
            ("tool", Value::String(word)) if own_tool => Value::String(camel_word(&word)),
            ("command", Value::Array(words)) => Value::String(command_line(&words)),
            ("cwd", Value::String(cwd)) => {
                Value::String(cwd.strip_prefix("file://").map(str::to_owned).unwrap_or(cwd))
            }
            ("content", Value::Array(parts)) => parts.into_iter().map(input).collect(),
            ("agents_states", Value::Object(states)) => {
                states.into_iter().map(|(child, state)| (child, state_of(state))).collect()
            }
            ("error", Value::String(message)) => json!({"message": message}),
            ("parsed_cmd", Value::Array(actions)) => actions.into_iter().map(input).collect(),
            ("duration", duration) => {
                let millis = duration["secs"].as_u64().unwrap_or(0) * 1_000
                    + duration["nanos"].as_u64().unwrap_or(0) / 1_000_000;
                fields.insert("durationMs".to_owned(), millis.into());
                continue;
            }
            (_, value) => value,
        };
        let name = match name.as_str() {
            "parsed_cmd" => "commandActions".to_owned(),
            "summary_text" => "summary".to_owned(),
            "raw_content" => "content".to_owned(),
            name => camel_word(name),
        };
        fields.insert(name, value);
    }
    serde_json::from_value(Value::Object(fields))
}

/// An image that came with a message.
pub(super) fn image(url: String) -> Attachment {
    Attachment { name: None, media_type: "image/*".to_owned(), source: AttachmentSource::Url(url) }
}

/// A part of a message, or what a command does: its type in their letters.
fn input(mut part: Value) -> Value {
    if let Some(Value::String(kind)) = part.get_mut("type") {
        *kind = camel_word(&small(kind));
    }
    if let Some(url) = part.get_mut("image_url").map(Value::take) {
        part["url"] = url;
    }
    part
}

/// `"running"`, or `{"completed":"what it said last"}`.
fn state_of(state: Value) -> Value {
    match state {
        Value::String(word) => json!({"status": camel_word(&word)}),
        Value::Object(only) => match only.into_iter().next() {
            Some((word, message)) => json!({"status": camel_word(&word), "message": message}),
            None => json!({}),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => json!({}),
    }
}

/// A command as one line that a shell would read as these words.
pub(super) fn command_line(words: &[Value]) -> String {
    let word = |word: &Value| {
        let word = word.as_str().unwrap_or_default();
        let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
        match !word.is_empty() && word.chars().all(plain) {
            true => word.to_owned(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// `UserMessage` is `userMessage`.
fn small(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// `exit_code` is `exitCode`.
fn camel_word(word: &str) -> String {
    let mut parts = word.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut whole, part| {
        let mut letters = part.chars();
        whole.extend(letters.next().into_iter().flat_map(char::to_uppercase).chain(letters));
        whole
    })
}

/// The same with all names in a value, and with a value that is itself a name.
pub(super) fn camel(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let of = |(name, value): (String, Value)| {
                let value = match (name.as_str(), value) {
                    ("codex_error_info", Value::String(word)) => Value::String(camel_word(&word)),
                    (_, value) => camel(value),
                };
                (camel_word(&name), value)
            };
            fields.into_iter().map(of).collect()
        }
        Value::Array(values) => values.into_iter().map(camel).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}
