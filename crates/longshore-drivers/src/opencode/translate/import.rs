//! Imports a conversation from elsewhere, message by message. The same driver that reports live conversations
//! reports its events.
//!
//! The driver gets each message as if it happened now: the message appears, it gets parts, it is complete.
//! All ids are functions of OpenCode's ids, so importing a message twice gives the same events.
//!
//! Nothing reports the end of a turn. A turn is over when the model calls no further tool, when the turn
//! failed, when a person refused a tool without a message, and when the next prompt follows an unfinished
//! message.

use longshore_model::capability::Mode;
use longshore_model::command::Attachment;
use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw, RawFault};
use longshore_model::id::{Context, Ids, SessionId};
use longshore_model::lifecycle::{DelegationEnd, TurnOutcome};
use longshore_model::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::OpenCode;
use super::conversation::{OpenCodeConversation, PartKind};
use super::items::source_of;
use crate::import::{Reading, RecordNames, RecordReader};
use crate::kit::Scribe;
use crate::opencode::NAME;
use crate::opencode::wire::{Info, Part, Times, Todos};

/// The error of a tool that a person refused without a message. The turn ends with it.
const REFUSED: &str = "The user rejected permission to use this specific tool call.";
/// The beginning of the error of a question that no person wants to answer. The turn ends with it.
const DISMISSED: &str = "The user dismissed";

/// A message in OpenCode's list. An unreadable part does not affect the other parts.
#[derive(Deserialize)]
struct PastMessage<'a> {
    info: Info,
    #[serde(borrow, default)]
    parts: Vec<&'a RawValue>,
}

/// Reads a conversation.
#[derive(Debug)]
pub struct Conversation {
    native: String,
    session: SessionId,
    names: RecordNames,
    driver: OpenCode,
    /// The prompts of the turn. At the end, they contain the changes of the turn.
    prompts: Vec<Info>,
    /// Whether OpenCode summarizes the conversation to free context, and then continues by itself.
    makes_room: bool,
}

impl RecordReader for Conversation {
    fn line(&mut self, line: &Raw, fault: Option<RawFault>, told: &mut Reading) {
        let before = told.drafts.len();
        let parsed = if fault.is_none() { serde_json::from_str::<PastMessage<'_>>(line).ok() } else { None };
        let Some(PastMessage { mut info, parts }) = parsed else {
            return told.keep("message", Some(fault.unwrap_or(RawFault::Malformed)), line);
        };
        info.session_id.clone_from(&self.native);
        let part = |part: &&RawValue| {
            let part = serde_json::from_str::<Part>(part.get()).ok()?;
            Some(Part { session_id: info.session_id.clone(), message_id: info.id.clone(), ..part })
        };
        let parts: Vec<Part> = parts.iter().filter_map(part).collect();
        let role = std::mem::take(&mut info.role);
        told.at = moment(info.time.created).unwrap_or(told.at);
        match role.as_str() {
            "user" => self.prompted(Info { role: role.clone(), ..info }, parts, told),
            "assistant" => self.stepped(Info { role: role.clone(), ..info }, parts, told),
            _ => {}
        }
        match told.drafts.get_mut(before) {
            Some((_, first)) => first.raw = Some(Raw::clone(line)),
            None => told.keep(format!("message/{role}"), None, line),
        }
    }

    fn rest(&mut self, told: &mut Reading) {
        self.give_up(told);
    }
}

impl Conversation {
    /// A reader of the conversation with this id.
    pub fn new(native: &str) -> Self {
        let session = SessionId::of_past(NAME, native);
        let mut driver = OpenCode { past: true, ..OpenCode::default() };
        let conversation = OpenCodeConversation::new(session, String::new(), Mode::default(), None);
        driver.conversations.insert(native.to_owned(), conversation);
        let (native, names) = (native.to_owned(), RecordNames::of(NAME, native));
        Self { native, session, names, driver, prompts: Vec::new(), makes_room: false }
    }

    /// Reads a message to the agent: from a person, from a delegating conversation, or from OpenCode itself.
    fn prompted(&mut self, info: Info, parts: Vec<Part>, told: &mut Reading) {
        if self.has_open_step() {
            self.give_up(told);
        }
        let said = Info { summary: Default::default(), ..copy(&info) };
        self.hear(&info.id, told, |driver, scribe| driver.message(&said, scribe));
        self.makes_room = parts.iter().any(|part| part.kind == "compaction" && part.auto);
        let words: Vec<&str> = parts
            .iter()
            .filter(|part| part.kind == "text" && !part.synthetic)
            .map(|part| part.text.as_str())
            .collect();
        let file = |part: &Part| Attachment {
            name: part.filename.clone(),
            media_type: part.mime.clone(),
            source: source_of(&part.url),
        };
        let attachments: Vec<Attachment> =
            parts.iter().filter(|part| part.kind == "file" && !part.synthetic).map(file).collect();
        if !words.is_empty() || !attachments.is_empty() {
            let turn = self.conversation().and_then(|conversation| conversation.turn_id());
            let item = self.names.item(&info.id, "said");
            let body = Body::UserMessage { prompt: None, attachments, by: None };
            told.say(Draft::new(body).turn(turn).item(item).text(words.join("\n")));
        }
        self.prompts.push(info);
    }

    /// Reads a message of the model.
    fn stepped(&mut self, info: Info, parts: Vec<Part>, told: &mut Reading) {
        if let Some(conversation) = self.conversation() {
            if let Some(cwd) = info.path["cwd"].as_str() {
                conversation.directory = cwd.to_owned();
            }
            // The message may answer a prompt of a turn that is over. Then it belongs to another turn.
            if conversation.turn.is_none() {
                let _ = info.parent_id.as_ref().map(|parent| conversation.messages.remove(parent));
            }
        }
        let begun = Info {
            time: Times { completed: None, ..info.time },
            error: None,
            cost: None,
            tokens: None,
            ..copy(&info)
        };
        self.hear(&info.id, told, |driver, scribe| driver.message(&begun, scribe));
        self.uses(&info, told);
        let began = told.at;
        let mut refused = false;
        for mut part in parts {
            // Older versions do not report the end of a text.
            if part.time.start.is_none() && info.error.is_none() {
                part.time.end = part.time.end.or(info.time.completed);
            }
            refused |= part.state.error == REFUSED || part.state.error.starts_with(DISMISSED);
            self.part(part, began, told);
        }
        told.at = moment(info.time.completed).unwrap_or(told.at);
        self.hear(&info.id, told, |driver, scribe| driver.message(&info, scribe));
        let sums_up = info.summary == true;
        if sums_up && info.time.completed.is_some() {
            let native = self.native.clone();
            self.hear(&info.id, told, |driver, scribe| driver.compacted(&native, scribe));
        }
        let goes_on = matches!(info.finish.as_deref(), Some("tool-calls" | "unknown"));
        let goes_on = (goes_on && info.error.is_none() && !refused) || (sums_up && self.makes_room);
        if info.time.completed.is_some() && !goes_on {
            self.end(refused, told);
        }
    }

    fn part(&mut self, mut part: Part, began: Timestamp, told: &mut Reading) {
        let before = told.drafts.len();
        let times = if part.kind == "tool" { part.state.time } else { part.time };
        told.at = moment(times.end.or(times.start)).unwrap_or(began);
        if part.tool == "task" {
            // The delegated work begins and ends before the call is complete.
            let status = std::mem::replace(&mut part.state.status, "running".to_owned());
            self.hear(&part.id, told, |driver, scribe| driver.part(&part, scribe));
            part.state.status = status;
            self.delegation_ended(&part, told);
        }
        self.hear(&part.id, told, |driver, scribe| driver.part(&part, scribe));
        let started = moment(times.start).unwrap_or(told.at);
        for (at, draft) in &mut told.drafts[before..] {
            if matches!(draft.body, Body::ToolStarted(_) | Body::DelegationStarted(_)) {
                *at = started;
            }
        }
        let is_plan = part.tool == "todowrite" && part.state.status == "completed";
        let todos = is_plan.then(|| serde_json::from_value::<Todos>(part.state.input).ok()).flatten();
        if let Some(todos) = todos {
            let (native, name) = (self.native.clone(), format!("{} plan", part.id));
            self.hear(&name, told, |driver, scribe| driver.todos_told(&native, &todos, scribe));
        }
    }

    /// The end of a call also ends the work that it delegated.
    fn delegation_ended(&mut self, part: &Part, told: &mut Reading) {
        let Some(known) = self.conversation().and_then(|conversation| conversation.parts.get(&part.id))
        else {
            return;
        };
        let (turn, item) = (known.turn, known.item);
        let PartKind::Tool(tool) = &known.what else { return };
        let Some(child) = tool.child.as_ref() else { return };
        let child = SessionId::of_past(NAME, child);
        let (outcome, text) = match part.state.status.as_str() {
            "completed" => (TurnOutcome::Completed, result_of(&part.state.output)),
            "error" if part.state.metadata["interrupted"] == true => (TurnOutcome::Interrupted, ""),
            "error" => (TurnOutcome::Failed, part.state.error.as_str()),
            _ => return,
        };
        let mut draft = Draft::new(Body::DelegationFinished(DelegationEnd { child, outcome }));
        draft.text = Some(text.to_owned()).filter(|text| !text.is_empty());
        told.say(draft.turn(turn).item(item));
    }

    /// Reports the model, if it has changed.
    fn uses(&mut self, info: &Info, told: &mut Reading) {
        let whole = !info.provider_id.is_empty() && !info.model_id.is_empty();
        let model = whole.then(|| format!("{}/{}", info.provider_id, info.model_id));
        let Some(conversation) =
            self.conversation().filter(|conversation| model.is_some() && conversation.uses != model)
        else {
            return;
        };
        conversation.uses.clone_from(&model);
        told.say(Draft::new(Body::ModelChanged { model: model.unwrap_or_default() }));
    }

    /// Whether the model left a message unfinished.
    fn has_open_step(&mut self) -> bool {
        let turn = self.conversation().and_then(|conversation| conversation.turn.as_ref());
        turn.is_some_and(|turn| turn.steps.values().any(|step| !step.done))
    }

    /// Ends a turn that nobody continues.
    fn give_up(&mut self, told: &mut Reading) {
        self.end(true, told);
    }

    fn end(&mut self, stopped: bool, told: &mut Reading) {
        let Some(turn) = self.conversation().and_then(|conversation| conversation.turn.as_mut()) else {
            return;
        };
        turn.cancelled |= stopped;
        let prompts = std::mem::take(&mut self.prompts);
        for prompt in &prompts {
            let name = format!("{} diff", prompt.id);
            self.hear(&name, told, |driver, scribe| driver.message(prompt, scribe));
        }
        let (native, before, at) = (self.native.clone(), told.drafts.len(), told.at);
        self.hear("end", told, |driver, scribe| driver.finish(&native, scribe));
        let began = prompts.first().and_then(|prompt| moment(prompt.time.created));
        for (_, draft) in &mut told.drafts[before..] {
            if let Body::TurnFinished(end) = &mut draft.body {
                end.duration_ms = began.map(|began| at.millis_since(began));
            }
        }
    }

    /// Runs the driver. `name` seeds the ids that the driver makes, and the driver's requests to OpenCode are
    /// dropped.
    fn hear(&mut self, name: &str, told: &mut Reading, act: impl FnOnce(&mut OpenCode, &mut Scribe<'_>)) {
        let mut out = Output::default();
        let (high, low) = self.names.turn(name).0.as_u64_pair();
        let mut cx = Context { now: told.at, ids: &mut Ids::seeded(high ^ low.rotate_left(1)) };
        act(&mut self.driver, &mut Scribe::new(&mut cx, &mut out));
        for (session, draft) in out.said {
            if session == self.session {
                told.say(draft);
            }
        }
        // The messages come in order, so an early time is no reason to skip one.
        if let Some(conversation) = self.conversation() {
            conversation.since = 0.0;
        }
    }

    fn conversation(&mut self) -> Option<&mut OpenCodeConversation> {
        self.driver.conversations.get_mut(&self.native)
    }
}

/// The facts of a message about itself, without its changes.
fn copy(info: &Info) -> Info {
    Info {
        id: info.id.clone(),
        session_id: info.session_id.clone(),
        role: info.role.clone(),
        parent_id: info.parent_id.clone(),
        time: info.time,
        error: info.error.clone(),
        cost: info.cost,
        tokens: info.tokens,
        finish: info.finish.clone(),
        summary: Default::default(),
        path: Default::default(),
        provider_id: String::new(),
        model_id: String::new(),
    }
}

fn moment(millis: Option<f64>) -> Option<Timestamp> {
    millis.map(|millis| Timestamp::from_micros((millis * 1_000.0) as i64))
}

/// The result of a delegation, without the text around it.
fn result_of(output: &str) -> &str {
    let inside = output.split_once("<task_result>").and_then(|(_, rest)| rest.split_once("</task_result>"));
    inside.map_or(output, |(result, _)| result).trim()
}
