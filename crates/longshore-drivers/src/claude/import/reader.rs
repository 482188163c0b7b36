//! Reads a transcript line by line.

use std::collections::{HashMap, HashSet, VecDeque};

use longshore_model::command::Attachment;
use longshore_model::event::{Body, Draft, NoticeLevel, Raw, RawFault};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::lifecycle::{GitState, TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;
use serde_json::Value;

use super::branches::{AT_THE_SAME_TIME, Branches, TurnPlace, branched};
use super::line::{INTERRUPTED, TranscriptLine, TranscriptMessage, images_of, typed};
use super::tools::TranscriptCall;
use crate::claude::NAME;
use crate::claude::translate::tools::text_of;
use crate::claude::translate::usage::{sum, usage_of};
use crate::import::{Reading, RecordNames, RecordReader};

/// How Claude Code's own answer to a slash command begins.
const ANSWERED_BY_PROGRAM: &str = "<local-command-stdout>";
/// How many earlier turns are kept because another terminal may continue them.
const SET_ASIDE: usize = 16;
/// The notice that the conversation was compacted.
const COMPACTED: &str = "Claude Code compacted the conversation to make room.";

/// Reads a transcript.
#[derive(Debug)]
pub struct Transcript {
    pub(super) names: RecordNames,
    /// How many lines were read.
    lines: u64,
    pub(super) cwd: String,
    branch: Option<String>,
    model: Option<String>,
    /// Whether a person gave the conversation a title.
    named: bool,
    branches: Branches,
    pub(super) turn: Option<TranscriptTurn>,
    /// The earlier turns. Another terminal may still continue one of them.
    aside: VecDeque<TranscriptTurn>,
    /// The tokens of all messages except the last.
    spent: Usage,
    /// The message that was counted last, and its tokens.
    counted: Option<(String, Usage)>,
    told: Usage,
    /// The running sub-agents.
    pub(super) children: HashSet<String>,
}

/// A turn. A turn that has ended is kept for the rest of the message that ended it.
#[derive(Clone, Debug)]
pub(super) struct TranscriptTurn {
    place: TurnPlace,
    pub(super) name: String,
    pub(super) id: TurnId,
    /// The calls that have not ended.
    pub(super) tools: HashMap<String, TranscriptCall>,
    /// Whether a notice has said that the turn is on its own branch.
    branched: bool,
    started: Timestamp,
    /// The message that ended the turn.
    ended_by: Option<String>,
    /// Whether the last message of the turn is an answer of the agent.
    answered: bool,
    usage_before: Usage,
}

impl RecordReader for Transcript {
    fn line(&mut self, text: &Raw, fault: Option<RawFault>, reading: &mut Reading) {
        self.lines += 1;
        let before = reading.drafts.len();
        let parsed = if fault.is_none() { serde_json::from_str::<TranscriptLine>(text).ok() } else { None };
        let Some(line) = parsed else {
            return reading.keep("line", Some(fault.unwrap_or(RawFault::Malformed)), text);
        };
        reading.at(&line.timestamp);
        let elsewhere = line.is_sidechain && line.agent_id.is_none();
        if !elsewhere {
            self.go_on_with(line.parent_uuid.as_deref());
        }
        match line.kind.as_str() {
            // Old versions wrote the lines of sub-agents into the session's transcript.
            _ if elsewhere => {}
            "user" => self.user(&line, reading),
            "assistant" => self.assistant(&line, reading),
            "attachment" => self.attached(&line, reading),
            "system" if line.subtype.as_deref() == Some("compact_boundary") => {
                let turn = self.running();
                reading.say(Draft::new(Body::Notice { level: NoticeLevel::Info }).turn(turn).text(COMPACTED));
            }
            // A title that a person gave stays.
            "custom-title" | "ai-title" if line.kind == "custom-title" || !self.named => {
                self.named |= line.kind == "custom-title";
                if let Some(title) = line.custom_title.clone().or_else(|| line.ai_title.clone()) {
                    reading.say(Draft::new(Body::TitleChanged).text(title));
                }
            }
            _ => {}
        }
        if let Some(uuid) = line.uuid.as_deref().filter(|_| !line.is_sidechain) {
            self.branches.line(uuid, self.turn.as_ref().map_or(0, |turn| turn.place));
        }
        self.stands(&line, reading);
        match reading.drafts.get_mut(before) {
            Some((_, first)) => first.raw = Some(Raw::clone(text)),
            None => {
                let more = line.subtype.as_deref().or_else(|| line.attachment["type"].as_str());
                let kind = more.map_or_else(|| line.kind.clone(), |more| format!("{}/{more}", line.kind));
                reading.keep(kind, None, text);
            }
        }
    }

    fn rest(&mut self, reading: &mut Reading) {
        self.end_unsaid(reading);
    }

    /// Older versions do not record why a message ended.
    fn seems_done(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.answered)
    }
}

impl Transcript {
    /// A reader of the transcript of this session or sub-agent.
    pub fn new(native: &str) -> Self {
        Self {
            names: RecordNames::of(NAME, native),
            lines: 0,
            cwd: String::new(),
            branch: None,
            model: None,
            named: false,
            branches: Branches::default(),
            turn: None,
            aside: VecDeque::new(),
            spent: Usage::default(),
            counted: None,
            told: Usage::default(),
            children: HashSet::new(),
        }
    }

    fn user(&mut self, line: &TranscriptLine, reading: &mut Reading) {
        let Some(message) = &line.message else { return };
        if let Some(text) = line.prompt() {
            self.end_unsaid(reading);
            self.begin(line, reading);
            // Prompts that no person sent have an origin of Claude Code. Their ids are not ours.
            reading.prompt =
                line.uuid.as_ref().filter(|_| line.origin.is_null()).and_then(|uuid| uuid.parse().ok());
            reading.by_program = line.is_local_command();
            if let Some(left_out) = self.branches.prompt() {
                warn(branched(left_out), reading);
                self.turn.iter_mut().for_each(|turn| turn.branched = true);
            }
            return self.said(line, text, images_of(&message.content), reading);
        }
        if line.is_meta || line.is_compact_summary {
            return;
        }
        let words = text_of(&message.content);
        if words.starts_with(ANSWERED_BY_PROGRAM)
            && let Some(turn) = &mut self.turn
        {
            turn.answered = true;
        }
        if line.is_notification(&words) {
            self.end_unsaid(reading);
            self.begin(line, reading);
            return self.child_ended(&words, reading);
        }
        for block in message.content.as_array().into_iter().flatten() {
            if block["type"] == "tool_result" {
                self.tool_ended(block, &line.tool_use_result, reading);
            }
        }
        if words.starts_with(INTERRUPTED) {
            self.end(TurnEnd::of(TurnOutcome::Interrupted), None, reading);
        }
    }

    fn assistant(&mut self, line: &TranscriptLine, reading: &mut Reading) {
        let Some(message) = &line.message else { return };
        if message.is_no_answer() {
            return;
        }
        self.reopen(reading);
        let is_rest = |turn: &TranscriptTurn| turn.ended_by.is_none() || turn.ended_by == message.id;
        if !self.turn.as_ref().is_some_and(is_rest) {
            self.begin(line, reading);
        }
        if line.is_api_error_message {
            let text = text_of(&message.content);
            let error = TurnError { code: code_of(&text), message: text, details: Value::Null };
            let end = TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) };
            return self.end(end, message.id.clone(), reading);
        }
        if let Some(model) = message.model()
            && self.model.as_ref() != Some(model)
        {
            self.model = Some(model.clone());
            reading.say(Draft::new(Body::ModelChanged { model: model.clone() }));
        }
        let mut thinks = false;
        let text = [message.content.clone()];
        let blocks = message.content.as_array().map_or(&text[..], Vec::as_slice);
        for (at, block) in blocks.iter().enumerate() {
            let name = format!("{} {at}", self.line_name(line));
            let (turn, item) = self.place(&name);
            let word = |field: &str| block[field].as_str().unwrap_or_default();
            let text = block.as_str().unwrap_or_else(|| word("text"));
            let answers = match block["type"].as_str() {
                Some("text") | None => {
                    if !text.is_empty() {
                        let body = Body::MessageDone { phase: None, partial: false };
                        reading.say(Draft::new(body).turn(turn).item(item).text(text));
                    }
                    true
                }
                Some("thinking") => {
                    thinks = true;
                    let body = Body::ReasoningDone { partial: false };
                    reading.say(Draft::new(body).turn(turn).item(item).text(word("thinking")));
                    false
                }
                Some("tool_use" | "server_tool_use") => {
                    self.tool_began(block, reading);
                    false
                }
                Some(kind) if kind.ends_with("_tool_result") => {
                    self.tool_ended(block, &Value::Null, reading);
                    false
                }
                Some(_) => false,
            };
            if let Some(turn) = &mut self.turn {
                turn.answered = answers;
            }
        }
        self.count(line, message, reading);
        // A thought is never the end of a turn, because the answer follows in the same message.
        let ends = matches!(message.stop_reason.as_deref(), Some("end_turn" | "stop_sequence" | "refusal"));
        if ends && !thinks && self.turn.as_ref().is_some_and(|turn| turn.ended_by.is_none()) {
            self.end(TurnEnd::of(TurnOutcome::Completed), message.id.clone(), reading);
        }
    }

    /// Prompts that a person sent during the turn are attached to the turn.
    fn attached(&mut self, line: &TranscriptLine, reading: &mut Reading) {
        let attachment = &line.attachment;
        let is_prompt = attachment["type"] == "queued_command"
            && attachment["commandMode"].as_str().is_none_or(|mode| mode == "prompt");
        if is_prompt && !line.is_meta {
            if self.running().is_none() {
                self.begin(line, reading);
            }
            let text = typed(&text_of(&attachment["prompt"]));
            self.said(line, text, images_of(&attachment["prompt"]), reading);
        }
    }

    fn said(
        &mut self,
        line: &TranscriptLine,
        text: String,
        attachments: Vec<Attachment>,
        reading: &mut Reading,
    ) {
        let (turn, item) = self.place(&self.line_name(line));
        if let Some(turn) = &mut self.turn {
            turn.answered = false;
        }
        let body = Body::UserMessage { prompt: None, attachments, by: None };
        reading.say(Draft::new(body).turn(turn).item(item).text(text));
    }

    fn begin(&mut self, line: &TranscriptLine, reading: &mut Reading) {
        let name = self.line_name(line);
        let id = self.names.turn(&name);
        reading.say(Draft::new(Body::TurnStarted { prompt: None }).turn(id));
        let last = self.turn.take();
        let before = self.branches.turn_of(line.parent_uuid.as_deref());
        let before = before.unwrap_or(last.as_ref().map_or(0, |turn| turn.place));
        let turn = TranscriptTurn {
            place: self.branches.begin(before),
            name,
            id,
            tools: HashMap::new(),
            branched: false,
            started: reading.at,
            ended_by: None,
            answered: false,
            usage_before: self.told,
        };
        self.set_aside(last);
        self.turn = Some(turn);
    }

    fn set_aside(&mut self, turn: Option<TranscriptTurn>) {
        self.aside.extend(turn);
        if self.aside.len() > SET_ASIDE {
            self.aside.pop_front();
        }
    }

    /// Continues with another turn if the line follows a line of that turn. Another terminal wrote it.
    fn go_on_with(&mut self, parent: Option<&str>) {
        let Some(place) = self.branches.turn_of(parent) else { return };
        let is_it = |turn: &TranscriptTurn| turn.place == place;
        if self.turn.as_ref().is_none_or(is_it) {
            return;
        }
        if let Some(turn) = self.aside.iter().position(is_it).and_then(|at| self.aside.remove(at)) {
            let other = self.turn.replace(turn);
            self.set_aside(other);
        }
    }

    /// Reopens a turn if the model answers in it after another turn has begun. The other turn did not end it,
    /// and runs at the same time.
    fn reopen(&mut self, reading: &mut Reading) {
        let Some(turn) = &mut self.turn else { return };
        if self.branches.has_all_before(turn.place) {
            return;
        }
        turn.ended_by.take_if(|by| by.is_empty());
        let last = self.branches.last_prompt();
        if let Some(other) = self.aside.iter_mut().find(|other| other.place == last && !other.branched) {
            other.branched = true;
            warn(AT_THE_SAME_TIME.to_owned(), reading);
        }
    }

    fn end(&mut self, mut end: TurnEnd, by: Option<String>, reading: &mut Reading) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.ended_by.is_none()) else { return };
        turn.ended_by = Some(by.unwrap_or_default());
        end.duration_ms = Some(reading.at.millis_since(turn.started));
        end.usage = (self.told != turn.usage_before).then(|| self.told.since(&turn.usage_before));
        let mut draft = Draft::new(Body::TurnFinished(end.clone())).turn(turn.id);
        draft.text = end.error.map(|error| error.message);
        reading.say(draft);
    }

    /// Ends the turn although no line says so. The outcome depends on its last line.
    fn end_unsaid(&mut self, reading: &mut Reading) {
        if let Some(turn) = self.turn.as_ref().filter(|turn| turn.ended_by.is_none()) {
            let outcome = if turn.answered { TurnOutcome::Completed } else { TurnOutcome::Interrupted };
            self.end(TurnEnd::of(outcome), None, reading);
        }
    }

    /// Counts the tokens of a message. Each line of a message has them. In older versions, they grow from
    /// line to line.
    fn count(&mut self, line: &TranscriptLine, message: &TranscriptMessage, reading: &mut Reading) {
        let Some(used) = message.usage.map(usage_of).filter(|used| used.input.unwrap_or(0) > 0) else {
            return;
        };
        let id = message.id.clone().unwrap_or_else(|| self.line_name(line));
        if let Some((_, spent)) = self.counted.take_if(|(counted, _)| *counted != id) {
            self.spent = sum(self.spent, spent);
        }
        self.counted = Some((id, used));
        let context_used = Some(used.input.unwrap_or(0).saturating_add(used.output.unwrap_or(0)));
        let total = Usage { context_used, ..sum(self.spent, used) };
        if total != self.told {
            self.told = total;
            reading.say(Draft::new(Body::UsageUpdated(total)).turn(self.running()));
        }
    }

    /// Notes the folder of the session, and its branch if that has changed.
    fn stands(&mut self, line: &TranscriptLine, reading: &mut Reading) {
        if let Some(cwd) = &line.cwd {
            self.cwd.clone_from(cwd);
        }
        let branch = line.git_branch.as_ref().filter(|branch| !branch.is_empty());
        if branch.is_some() && branch != self.branch.as_ref() {
            self.branch = branch.cloned();
            reading.say(Draft::new(Body::GitChanged(GitState {
                branch: branch.cloned(),
                ..GitState::default()
            })));
        }
    }

    /// The running turn.
    fn running(&self) -> Option<TurnId> {
        self.turn.as_ref().filter(|turn| turn.ended_by.is_none()).map(|turn| turn.id)
    }

    pub(super) fn place(&self, item: &str) -> (Option<TurnId>, longshore_model::id::ItemId) {
        let turn = self.turn.as_ref();
        let name = turn.map(|turn| turn.name.as_str()).unwrap_or_default();
        (turn.map(|turn| turn.id), self.names.item(name, item))
    }

    fn line_name(&self, line: &TranscriptLine) -> String {
        line.uuid.clone().unwrap_or_else(|| format!("line {}", self.lines))
    }

    pub(super) fn child(&self, agent: &str) -> SessionId {
        SessionId::of_past(NAME, agent)
    }
}

/// The notice belongs to no turn, because the log may already contain one of the turns that it is about.
fn warn(text: String, reading: &mut Reading) {
    reading.say(Draft::new(Body::Notice { level: NoticeLevel::Warning }).text(text));
}

/// Why a turn failed, guessed from the error's text.
fn code_of(text: &str) -> TurnErrorCode {
    let has = |word: &str| text.contains(word);
    if has("429") || has("rate limit") {
        TurnErrorCode::RateLimited
    } else if has("529") || has("verloaded") {
        TurnErrorCode::Overloaded
    } else if has("401") || has("/login") {
        TurnErrorCode::Unauthorized
    } else if has("too long") {
        TurnErrorCode::ContextWindow
    } else if has("usage limit") {
        TurnErrorCode::UsageLimit
    } else {
        TurnErrorCode::Other
    }
}
