//! Compaction: the model summarizes a conversation that is too long for it, and continues from the summary.
//!
//! The model reads the conversation as one text, so the rules of an API for conversations do not apply. Of long
//! outputs, the model reads the beginning and the end. The summary is an event; the log keeps the original.

use std::fmt::Write;

use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::Context;
use longshore_model::lifecycle::{TurnEnd, TurnErrorCode, TurnOutcome};

use super::answer::ModelAnswer;
use super::turn::TurnPhase;
use super::{Effect, Effects, Machine};
use crate::AgentLine;
use longshore_models::api::{Event, FailureKind, NeutralRequest};
use longshore_models::history::{HistoryItem, HistoryPart, Role};

/// The prompt with which a person requests a compaction.
pub(super) const COMMAND: &str = "compact";

/// How full the context may be, in percent, before the agent compacts the conversation.
const FULL: u64 = 85;
/// The approximate number of bytes of text per token.
const BYTES_A_TOKEN: u64 = 4;
/// How many bytes of an output the model reads again for a summary.
const OUTPUT: usize = 2_000;

const INSTRUCTIONS: &str = "You sum up a conversation between a person and a coding agent, so that the agent can go \
on from your summary alone. Keep what was asked for and decided, what was found out, which files were read, made or \
changed and how, what failed and why, and what is left to do, with exact names, paths and commands. Leave out \
greetings and detours. Write nothing but the summary.";

impl Machine {
    /// The approximate number of tokens of the next request.
    fn context(&self) -> u64 {
        let bytes = |bytes: usize| bytes as u64 / BYTES_A_TOKEN;
        match self.usage.context_used {
            Some(used) => used + bytes(self.history.size().saturating_sub(self.measured)),
            None => bytes(self.history.size()),
        }
    }

    pub(super) fn is_nearly_full(&self) -> bool {
        let Some(turn) = &self.turn else { return false };
        !turn.has_just_compacted()
            && self.context().saturating_mul(100) > self.settings.context_window.saturating_mul(FULL)
    }

    /// Compacts the conversation and ends the turn.
    pub(super) fn compact_and_rest(&mut self, cx: &mut Context<'_>, out: &mut Effects) {
        if let Some(turn) = &mut self.turn {
            turn.only_compacts = true;
            turn.owes = false;
        }
        match self.history.is_empty() {
            true => self.finish(TurnEnd::of(TurnOutcome::Completed), cx, out),
            false => self.compact(cx, out),
        }
    }

    /// Lets the model summarize the conversation.
    pub(super) fn compact(&mut self, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(model) = self.setup.as_ref().and_then(|setup| setup.model.clone()) else {
            return self.fail(TurnErrorCode::Other, "no model is set".to_owned(), cx, out);
        };
        let room = usize::try_from(self.settings.context_window * BYTES_A_TOKEN / 2).unwrap_or(usize::MAX);
        let story = ends(&self.story(), room);
        let request = NeutralRequest {
            model,
            instructions: INSTRUCTIONS.into(),
            history: vec![HistoryItem::user(None, &story, &[]).into()],
            tools: [].into(),
            max_output: self.settings.max_output,
            effort: None,
        };
        self.requests += 1;
        let (number, step) = (self.requests, self.history.next_step());
        if let Some(turn) = &mut self.turn {
            turn.iterations += 1;
            turn.state = TurnPhase::Compacting(ModelAnswer::new(number, step));
        }
        out.push(Effect::Ask { number, request: Box::new(request) });
    }

    /// Handles an event of the model during a compaction.
    pub(super) fn summed_up(&mut self, event: Event<'static>, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(turn) = &mut self.turn else { return };
        let TurnPhase::Compacting(answer) = &mut turn.state else { return };
        answer.gather(&event, cx);
        match event {
            Event::Failed(failure) if failure.kind == FailureKind::TooLong => {
                self.fail(TurnErrorCode::ContextWindow, failure.message, cx, out);
            }
            Event::Failed(failure) => self.failed(failure, true, cx, out),
            Event::Ended(_) => {
                let TurnPhase::Compacting(answer) = std::mem::replace(&mut turn.state, TurnPhase::Acting)
                else {
                    return;
                };
                let (text, usage) = answer.gathered();
                self.replace_by(&text, usage, cx, out);
            }
            Event::Text(_)
            | Event::TextDone(_)
            | Event::Reasoning(_)
            | Event::ReasoningDone { .. }
            | Event::ThoughtAloud { .. }
            | Event::Call { .. }
            | Event::Usage(_) => {}
        }
    }

    fn replace_by(
        &mut self,
        summary: &str,
        usage: Option<longshore_model::usage::Usage>,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) {
        if summary.trim().is_empty() {
            let reason = "the conversation no longer fits the model, and the model did not summarize it";
            return self.fail(TurnErrorCode::ContextWindow, reason.to_owned(), cx, out);
        }
        let before = self.context();
        let last = self.history.last_user().map(told).unwrap_or_default();
        let text = match last.is_empty() {
            true => summary.to_owned(),
            false => format!("{summary}\n\nWhat the user said last, in full:\n{last}"),
        };
        if let Some(usage) = usage {
            self.use_up(usage, out);
        }
        let (id, only) = match &mut self.turn {
            Some(turn) => {
                turn.retries = 0;
                turn.compacted_at = Some(turn.iterations);
                (Some(turn.id), turn.only_compacts)
            }
            None => return,
        };
        let after = text.len() as u64 / BYTES_A_TOKEN;
        let words = format!("the conversation was summed up: about {before} tokens became {after}");
        let notice = Draft::new(Body::Notice { level: NoticeLevel::Info }).turn(id).text(words);
        self.say(AgentLine::draft(notice).remember(HistoryItem::Summary { text }), out);
        self.usage.context_used = Some(after);
        self.measured = self.history.size();
        match only {
            true => self.finish(TurnEnd::of(TurnOutcome::Completed), cx, out),
            false => self.ask(cx, out),
        }
    }

    /// The conversation as a text.
    fn story(&self) -> String {
        let mut story = "Sum up this conversation.\n".to_owned();
        for item in self.history.legal() {
            let line = match &*item {
                HistoryItem::Message { role: Role::User, .. } => format!("Person: {}", told(&item)),
                HistoryItem::Message { role: Role::Assistant, .. } => format!("Agent: {}", told(&item)),
                HistoryItem::FunctionCall { name, arguments, .. } => {
                    format!("Agent called {name} with {}", ends(arguments, OUTPUT))
                }
                HistoryItem::FunctionCallOutput { output, .. } => {
                    let word = if output.success { "Result" } else { "Error" };
                    format!("{word}: {}", ends(&output.content, OUTPUT))
                }
                HistoryItem::Summary { text } => format!("What came before: {text}"),
                HistoryItem::Reasoning { .. } | HistoryItem::Allowed { .. } => continue,
            };
            let _ = write!(story, "\n{line}\n");
        }
        story
    }
}

/// The text of a message.
fn told(item: &HistoryItem) -> String {
    let HistoryItem::Message { content, .. } = item else { return String::new() };
    let words = content.iter().map(|part| match part {
        HistoryPart::InputText { text } | HistoryPart::OutputText { text } => text.as_str(),
        HistoryPart::Attached(_) => "(an attachment)",
    });
    words.collect::<Vec<_>>().join("\n")
}

/// The beginning and the end of a text that is too long. The text between them does not say how much is missing. Tools
/// may already have left out parts, and the part that says so may itself be cut away.
fn ends(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let boundary = |wanted: usize| (0..=wanted).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (head, tail) = (boundary(room / 2), boundary(text.len() - room / 2));
    format!("{}\n[... the middle is left out ...]\n{}", &text[..head], &text[tail..])
}
