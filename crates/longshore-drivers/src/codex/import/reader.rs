//! Reads a rollout line by line.
//!
//! Since 0.166, a rollout has the beginning and the end of every turn. It also has every item once, when the
//! item is complete, in the app-server's form. Older rollouts have neither: a turn begins with a person's
//! message, and a tool appears only as the model's call. `history_mode` says which kind a rollout is.

use std::collections::HashSet;

use longshore_model::event::{Body, Draft, NoticeLevel, Raw, RawFault};
use longshore_model::id::{ItemId, TurnId};
use longshore_model::lifecycle::{GitState, TurnEnd, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::calls::RolloutCalls;
use super::items;
use super::{Meta, PayloadKind, RolloutLine};
use crate::codex::NAME;
use crate::codex::translate::items::{phase_of, user_message};
use crate::codex::translate::turns::turn_error;
use crate::codex::translate::usage::usage_of;
use crate::codex::wire;
use crate::codex::wire::snake::{self, camel};
use crate::git_remote::without_secrets;
use crate::import::{Reading, RecordNames, RecordReader};
use crate::kit::WireError;

/// Reads a rollout.
#[derive(Debug)]
pub struct Rollout {
    pub(super) names: RecordNames,
    /// How many lines were read.
    pub(super) lines: u64,
    pub(super) cwd: String,
    model: Option<String>,
    /// Whether the rollout contains every item and every turn as such.
    pub(super) whole: bool,
    pub(super) turn: Option<RolloutTurn>,
    usage: Option<Usage>,
    pub(super) calls: RolloutCalls,
    /// The threads that have unfinished work of this thread.
    pub(super) children: HashSet<String>,
}

/// The running turn.
#[derive(Clone, Debug)]
pub(super) struct RolloutTurn {
    pub(super) name: String,
    pub(super) id: TurnId,
    started: Timestamp,
    /// Whether the turn began with a person's message. Its end has no line.
    unmarked: bool,
    /// Whether the last line of the turn is an answer of the agent.
    pub(super) answered: bool,
    usage_before: Option<Usage>,
    used: bool,
}

/// An `event_msg`, with the fields of all kinds that the reader knows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EventMessage {
    #[serde(rename = "type")]
    kind: String,
    turn_id: Option<String>,
    item: Map<String, Value>,
    message: Option<String>,
    text: Option<String>,
    phase: Option<String>,
    images: Option<Vec<String>>,
    duration_ms: Option<u64>,
    error: Option<Value>,
    info: Option<TokenInfo>,
    thread_settings: Option<RolloutContext>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenInfo {
    total_token_usage: Tokens,
    last_token_usage: Tokens,
    model_context_window: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tokens {
    total_tokens: u64,
    input_tokens: u64,
    cached_input_tokens: u64,
    output_tokens: u64,
    reasoning_output_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RolloutContext {
    model: Option<String>,
}

impl Tokens {
    fn count(self) -> wire::TokenCount {
        wire::TokenCount {
            total_tokens: self.total_tokens,
            input_tokens: self.input_tokens,
            cached_input_tokens: self.cached_input_tokens,
            output_tokens: self.output_tokens,
            reasoning_output_tokens: self.reasoning_output_tokens,
        }
    }
}

/// The prompt of a person, if the payload of an `event_msg` contains one.
pub(super) fn first_words(payload: &RawValue) -> Option<String> {
    let PayloadKind { kind } = serde_json::from_str(payload.get()).ok()?;
    match &*kind {
        "user_message" => serde_json::from_str::<EventMessage>(payload.get()).ok()?.message,
        "item_completed" => {
            let happened: EventMessage = serde_json::from_str(payload.get()).ok()?;
            let said = happened.item.get("type").is_some_and(|kind| kind == "UserMessage");
            said.then(|| snake::item_of(happened.item).ok())
                .flatten()
                .and_then(|item| user_message(&item).text)
        }
        _ => None,
    }
}

impl RecordReader for Rollout {
    fn line(&mut self, line: &Raw, fault: Option<RawFault>, reading: &mut Reading) {
        self.lines += 1;
        let before = reading.drafts.len();
        let parsed = if fault.is_none() { serde_json::from_str::<RolloutLine<'_>>(line).ok() } else { None };
        let Some(parsed) = parsed else {
            return reading.keep("line", Some(fault.unwrap_or(RawFault::Malformed)), line);
        };
        reading.at(&parsed.timestamp);
        let misshapen = match &*parsed.kind {
            "session_meta" => self.session(&parsed, line, reading),
            "turn_context" => self.context(&parsed, line, reading),
            "event_msg" => self.happened(&parsed, line, reading),
            "response_item" => self.model_item(&parsed, line, reading),
            _ => Ok(()),
        }
        .is_err();
        let kept = reading.drafts.iter().skip(before).any(|(_, draft)| draft.raw.is_some());
        if !kept {
            let inner =
                serde_json::from_str::<PayloadKind<'_>>(parsed.payload.get()).unwrap_or_default().kind;
            let kind =
                if inner.is_empty() { parsed.kind.to_string() } else { format!("{}/{inner}", parsed.kind) };
            reading.keep(kind, misshapen.then_some(RawFault::Malformed), line);
        }
    }

    fn rest(&mut self, reading: &mut Reading) {
        self.end_unmarked(None, reading);
    }
}

impl Rollout {
    /// A reader of the rollout of this thread.
    pub fn new(native: &str) -> Self {
        Self {
            names: RecordNames::of(NAME, native),
            lines: 0,
            cwd: String::new(),
            model: None,
            whole: false,
            turn: None,
            usage: None,
            calls: RolloutCalls::default(),
            children: HashSet::new(),
        }
    }

    fn session(
        &mut self,
        parsed: &RolloutLine<'_>,
        line: &Raw,
        reading: &mut Reading,
    ) -> Result<(), WireError> {
        let meta: Meta = serde_json::from_str(parsed.payload.get())?;
        self.cwd = meta.cwd;
        self.whole = meta.history_mode == "paginated";
        let git = meta.git.unwrap_or_default();
        let (mut remote, mut line) = (git.repository_url, line.clone());
        if let Some(remote) = &mut remote {
            let shown = without_secrets(remote);
            if shown != *remote {
                line = told_instead(&line, remote, &shown);
                *remote = shown;
            }
        }
        let state = GitState { branch: git.branch, commit: git.commit_hash, remote, dirty: 0 };
        if state != GitState::default() {
            reading.say(Draft::new(Body::GitChanged(state)).raw(line));
        }
        Ok(())
    }

    fn context(
        &mut self,
        parsed: &RolloutLine<'_>,
        line: &Raw,
        reading: &mut Reading,
    ) -> Result<(), WireError> {
        let settings: RolloutContext = serde_json::from_str(parsed.payload.get())?;
        self.thinks_with(settings.model, line, reading);
        Ok(())
    }

    fn thinks_with(&mut self, model: Option<String>, line: &Raw, reading: &mut Reading) {
        if let Some(model) = model.filter(|model| !model.is_empty() && Some(model) != self.model.as_ref()) {
            self.model = Some(model.clone());
            reading.say(Draft::new(Body::ModelChanged { model }).raw(line.clone()));
        }
    }

    fn happened(
        &mut self,
        parsed: &RolloutLine<'_>,
        line: &Raw,
        reading: &mut Reading,
    ) -> Result<(), WireError> {
        let PayloadKind { kind } = serde_json::from_str(parsed.payload.get())?;
        let is_known = matches!(
            &*kind,
            "task_started"
                | "task_complete"
                | "turn_aborted"
                | "item_completed"
                | "token_count"
                | "thread_settings_applied"
                | "user_message"
                | "agent_message"
                | "agent_reasoning"
        );
        if !is_known {
            return Ok(());
        }
        let happened: EventMessage = serde_json::from_str(parsed.payload.get())?;
        match happened.kind.as_str() {
            "task_started" => {
                self.end_unmarked(None, reading);
                let name = happened.turn_id.unwrap_or_else(|| self.line_name());
                self.begin(name, false, Some(line), reading);
            }
            "task_complete" => {
                let error = happened
                    .error
                    .filter(|error| !error.is_null())
                    .map(|error| turn_error(&serde_json::from_value(camel(error)).unwrap_or_default()));
                let outcome = if error.is_some() { TurnOutcome::Failed } else { TurnOutcome::Completed };
                let end = TurnEnd { error, duration_ms: happened.duration_ms, ..TurnEnd::of(outcome) };
                self.end(happened.turn_id, end, line, reading);
            }
            "turn_aborted" => {
                let end =
                    TurnEnd { duration_ms: happened.duration_ms, ..TurnEnd::of(TurnOutcome::Interrupted) };
                self.end(happened.turn_id, end, line, reading);
            }
            "item_completed" => self.item(happened.turn_id, happened.item, line, reading)?,
            "token_count" => self.counted(happened.info, line, reading),
            "thread_settings_applied" => {
                self.thinks_with(happened.thread_settings.and_then(|settings| settings.model), line, reading);
            }
            _ => self.said_before_items(happened, line, reading),
        }
        Ok(())
    }

    /// Reads the events that older rollouts have instead of items.
    fn said_before_items(&mut self, happened: EventMessage, line: &Raw, reading: &mut Reading) {
        let name = self.line_name();
        let text = happened.message.or(happened.text).unwrap_or_default();
        let body = match happened.kind.as_str() {
            "user_message" => {
                if self.turn.as_ref().is_none_or(|turn| turn.unmarked) {
                    self.end_unmarked(None, reading);
                    self.begin(name.clone(), true, None, reading);
                }
                let urls = happened.images.unwrap_or_default().into_iter();
                let attachments = urls.map(items::image).collect();
                Body::UserMessage { prompt: None, attachments, by: None }
            }
            "agent_message" => {
                Body::MessageDone { phase: phase_of(happened.phase.as_deref()), partial: false }
            }
            _ => Body::ReasoningDone { partial: false },
        };
        let answers = matches!(body, Body::MessageDone { .. });
        let (turn, item) = self.place(None, &name);
        if let Some(turn) = &mut self.turn {
            turn.answered = answers;
        }
        reading.say(Draft::new(body).turn(turn).item(item).text(text).raw(line.clone()));
    }

    fn begin(&mut self, name: String, unmarked: bool, line: Option<&Raw>, reading: &mut Reading) {
        let id = self.names.turn(&name);
        let draft = Draft::new(Body::TurnStarted { prompt: None }).turn(id);
        reading.say(draft.raw(line.cloned()));
        self.turn = Some(RolloutTurn {
            name,
            id,
            started: reading.at,
            unmarked,
            answered: false,
            usage_before: self.usage,
            used: false,
        });
        self.calls = RolloutCalls::default();
    }

    fn end(&mut self, name: Option<String>, mut end: TurnEnd, line: &Raw, reading: &mut Reading) {
        let Some(turn) = self.turn.take_if(|turn| name.is_none() || name.as_ref() == Some(&turn.name)) else {
            return;
        };
        end.usage = self.usage.filter(|_| turn.used).map(|total| match &turn.usage_before {
            Some(before) => total.since(before),
            None => total,
        });
        end.duration_ms.get_or_insert(reading.at.millis_since(turn.started));
        let mut draft = Draft::new(Body::TurnFinished(end.clone())).turn(turn.id).raw(line.clone());
        draft.text = end.error.map(|error| error.message);
        reading.say(draft);
    }

    /// Ends a turn whose end is not in the rollout, because Codex was killed, or because that version does
    /// not write it.
    fn end_unmarked(&mut self, line: Option<&Raw>, reading: &mut Reading) {
        let Some(turn) = self.turn.take() else { return };
        let outcome = match turn.unmarked && turn.answered {
            true => TurnOutcome::Completed,
            false => TurnOutcome::Interrupted,
        };
        reading.say(Draft::new(Body::TurnFinished(TurnEnd::of(outcome))).turn(turn.id).raw(line.cloned()));
    }

    fn counted(&mut self, info: Option<TokenInfo>, line: &Raw, reading: &mut Reading) {
        let Some(TokenInfo { total_token_usage, last_token_usage, model_context_window }) = info else {
            return;
        };
        let used = usage_of(total_token_usage.count(), model_context_window, last_token_usage.total_tokens);
        if self.usage == Some(used) {
            return;
        }
        self.usage = Some(used);
        let last = usage_of(last_token_usage.count(), None, 0);
        if let Some(turn) = &mut self.turn {
            turn.usage_before.get_or_insert_with(|| used.since(&last));
            turn.used = true;
        }
        let turn = self.turn.as_ref().map(|turn| turn.id);
        reading.say(Draft::new(Body::UsageUpdated(used)).turn(turn).raw(line.clone()));
    }

    /// Our ids of a turn and of an item in it. Without a turn, the running turn.
    pub(super) fn place(&self, turn: Option<&str>, item: &str) -> (Option<TurnId>, ItemId) {
        let name = turn.or(self.turn.as_ref().map(|turn| turn.name.as_str()));
        (name.map(|name| self.names.turn(name)), self.names.item(name.unwrap_or_default(), item))
    }

    /// A name for an item without an id.
    pub(super) fn line_name(&self) -> String {
        format!("line {}", self.lines)
    }

    pub(super) fn notice(&self, text: &str, turn: Option<TurnId>, line: &Raw, reading: &mut Reading) {
        let draft = Draft::new(Body::Notice { level: NoticeLevel::Info }).turn(turn).text(text);
        reading.say(draft.raw(line.clone()));
    }
}

/// A copy of a JSON line with a replacement for every string that equals the secret. The line is written
/// anew, so that no escaped form of the secret stays.
fn told_instead(line: &str, secret: &str, shown: &str) -> Raw {
    fn replace(value: &mut Value, secret: &str, shown: &str) {
        match value {
            Value::String(text) if text == secret => shown.clone_into(text),
            Value::Array(values) => values.iter_mut().for_each(|value| replace(value, secret, shown)),
            Value::Object(fields) => fields.values_mut().for_each(|value| replace(value, secret, shown)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut value: Value = serde_json::from_str(line).unwrap_or_default();
    replace(&mut value, secret, shown);
    value.to_string().into()
}
