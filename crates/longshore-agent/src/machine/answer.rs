//! An answer of the model: texts and thoughts as they grow, calls when they are complete.

use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{Context, ItemId};
use longshore_model::lifecycle::TurnErrorCode;
use longshore_model::usage::Usage;
use serde_json::Value;

use super::turn::TurnPhase;
use super::{Effect, Effects, Machine};
use crate::AgentLine;
use longshore_models::api::{Event, Failure, FailureKind, Finish};
use longshore_models::history::HistoryItem;

/// How often in a row the agent asks the model to continue an answer that was too long for the service.
const MOST_CUTS: u32 = 3;
const CUT_OFF: &str = "Your last answer was cut off. Go on where it ended.";

/// An answer while the model streams it.
#[derive(Debug)]
pub(super) struct ModelAnswer {
    pub(super) number: u64,
    pub(super) step: u64,
    words: Option<Growing>,
    thought: Option<Growing>,
    /// A part of the answer is complete, and the agent will remember it.
    kept: bool,
    /// The model sent a part of an answer, complete or not.
    spoke: bool,
    usage: Option<Usage>,
}

#[derive(Debug)]
struct Growing {
    item: ItemId,
    text: String,
}

impl ModelAnswer {
    pub(super) fn new(number: u64, step: u64) -> Self {
        Self { number, step, words: None, thought: None, kept: false, spoke: false, usage: None }
    }

    /// Collects the text for a summary, which clients do not see grow.
    pub(super) fn gather(&mut self, event: &Event<'_>, cx: &mut Context<'_>) {
        let fresh = |cx: &mut Context<'_>| Growing { item: ItemId::mint(cx), text: String::new() };
        match event {
            Event::Text(text) => self.words.get_or_insert_with(|| fresh(cx)).text.push_str(text),
            Event::TextDone(text) => {
                (**text).clone_into(&mut self.words.get_or_insert_with(|| fresh(cx)).text)
            }
            Event::ThoughtAloud { .. } => self.words = None,
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::Reasoning(_)
            | Event::ReasoningDone { .. }
            | Event::Call { .. }
            | Event::Ended(_)
            | Event::Failed(_) => {}
        }
    }

    pub(super) fn gathered(self) -> (String, Option<Usage>) {
        (self.words.map(|words| words.text).unwrap_or_default(), self.usage)
    }
}

impl Machine {
    pub(super) fn model_said(
        &mut self,
        number: u64,
        event: Event<'static>,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) {
        let Some(turn) = &mut self.turn else { return };
        let answer = match &mut turn.state {
            TurnPhase::Asking(answer) if answer.number == number => answer,
            TurnPhase::Compacting(answer) if answer.number == number => {
                return self.summed_up(event, cx, out);
            }
            // Nothing waits for this answer any more.
            TurnPhase::Asking(_)
            | TurnPhase::Compacting(_)
            | TurnPhase::Waiting { .. }
            | TurnPhase::Acting => return,
        };
        let (id, step) = (turn.id, answer.step);
        match event {
            Event::Text(text) => {
                if text.is_empty() {
                    return;
                }
                answer.spoke = true;
                self.close_thought(out);
                let Some(answer) = self.asking() else { return };
                let words = answer
                    .words
                    .get_or_insert_with(|| Growing { item: ItemId::mint(cx), text: String::new() });
                words.text.push_str(&text);
                let draft = Draft::new(Body::MessageDelta).turn(id).item(words.item).text(text);
                self.say(AgentLine::draft(draft), out);
            }
            Event::TextDone(text) => self.words_done(Some(&text), cx, out),
            Event::Reasoning(text) => {
                if text.is_empty() {
                    return;
                }
                let thought = answer
                    .thought
                    .get_or_insert_with(|| Growing { item: ItemId::mint(cx), text: String::new() });
                thought.text.push_str(&text);
                let draft = Draft::new(Body::ReasoningDelta).turn(id).item(thought.item).text(text);
                self.say(AgentLine::draft(draft), out);
            }
            Event::ReasoningDone { text, data } => self.thought_done(&text, data, cx, out),
            Event::ThoughtAloud { data } => {
                // The text that clients saw becomes a thought, as the same item.
                (answer.thought, answer.spoke) = (answer.words.take(), false);
                self.thought_done("", data, cx, out);
            }
            Event::Call { id, name, arguments } => {
                answer.kept = true;
                self.words_done(None, cx, out);
                self.close_thought(out);
                self.call(id, name, arguments, step, cx, out);
            }
            Event::Usage(usage) => answer.usage = Some(usage),
            Event::Ended(finish) => self.answer_ended(finish, cx, out),
            Event::Failed(failure) => self.answer_failed(failure, cx, out),
        }
    }

    fn asking(&mut self) -> Option<&mut ModelAnswer> {
        match &mut self.turn.as_mut()?.state {
            TurnPhase::Asking(answer) => Some(answer),
            TurnPhase::Compacting(_) | TurnPhase::Waiting { .. } | TurnPhase::Acting => None,
        }
    }

    /// A text is complete. `whole` is the complete text; without it, the text that grew is complete.
    fn words_done(&mut self, whole: Option<&str>, cx: &mut Context<'_>, out: &mut Effects) {
        self.close_thought(out);
        let Some(answer) = self.asking() else { return };
        let grown = answer.words.take();
        let text = whole.or(grown.as_ref().map(|words| words.text.as_str())).unwrap_or_default().to_owned();
        if text.trim().is_empty() && grown.is_none() {
            return;
        }
        answer.kept |= !text.trim().is_empty();
        answer.spoke = true;
        let (step, item) = (answer.step, grown.map_or_else(|| ItemId::mint(cx), |words| words.item));
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let body = Body::MessageDone { phase: None, partial: false };
        let said = AgentLine::draft(Draft::new(body).turn(turn).item(item).text(text.clone()));
        self.say(
            if text.trim().is_empty() { said } else { said.remember(HistoryItem::assistant(step, &text)) },
            out,
        );
    }

    /// A thought is complete. It comes with the data by which the service recognises it later.
    fn thought_done(&mut self, text: &str, data: Value, cx: &mut Context<'_>, out: &mut Effects) {
        let (api, from) = (self.settings.api(), self.settings.place().to_owned());
        let Some(answer) = self.asking() else { return };
        let grown = answer.thought.take();
        let item = HistoryItem::Reasoning { step: answer.step, api, from: Some(from), data };
        let shown = match (&grown, text) {
            (Some(grown), "") => grown.text.clone(),
            (_, text) => text.to_owned(),
        };
        let turn = self.turn.as_ref().map(|turn| turn.id);
        // The agent remembers a thought that has no text to show.
        if shown.is_empty() && grown.is_none() {
            return self.say(AgentLine::history(item), out);
        }
        let id = grown.map_or_else(|| ItemId::mint(cx), |thought| thought.item);
        let body = Body::ReasoningDone { partial: false };
        self.say(AgentLine::draft(Draft::new(body).turn(turn).item(id).text(shown)).remember(item), out);
    }

    /// Closes a thought when another item begins: some services do not report the end of a thought.
    fn close_thought(&mut self, out: &mut Effects) {
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let Some(Growing { item, text }) = self.asking().and_then(|answer| answer.thought.take()) else {
            return;
        };
        let body = Body::ReasoningDone { partial: false };
        self.say(AgentLine::draft(Draft::new(body).turn(turn).item(item).text(text)), out);
    }

    fn answer_ended(&mut self, finish: Finish, cx: &mut Context<'_>, out: &mut Effects) {
        self.words_done(None, cx, out);
        let Some(answer) = self.asking() else { return };
        let (usage, spoke) = (answer.usage.take(), answer.spoke || answer.kept);
        if let Some(usage) = usage {
            self.use_up(usage, out);
        }
        let Some(turn) = &mut self.turn else { return };
        turn.retries = 0;
        turn.state = TurnPhase::Acting;
        let calls = !turn.calls.is_empty();
        turn.owes |= calls;
        let said = spoke || calls;
        turn.cuts = if finish == Finish::Length { turn.cuts + 1 } else { 0 };
        let silent = !said && matches!(finish, Finish::Done | Finish::Paused);
        turn.silences = if silent { turn.silences + 1 } else { 0 };
        match finish {
            Finish::Done | Finish::Paused if silent => return self.said_nothing(cx, out),
            Finish::Done => {}
            Finish::Length => return self.cut_short(said, cx, out),
            Finish::Full => (turn.is_full, turn.owes) = (true, true),
            Finish::Paused if calls => {}
            Finish::Paused => self.ask_to_go_on("Go on.", out),
            Finish::Filtered => {
                let reason =
                    "the content filter of the model's service stopped the answer; rephrase the prompt";
                return self.fail(TurnErrorCode::Other, reason.to_owned(), cx, out);
            }
        }
        self.schedule(cx, out);
    }

    /// An answer without text and without calls is no answer. The agent asks the model once more.
    fn said_nothing(&mut self, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(turn) = &mut self.turn else { return };
        if turn.silences > 1 {
            let reason = "the model answered nothing, twice; prompt again, or try another model";
            return self.fail(TurnErrorCode::Other, reason.to_owned(), cx, out);
        }
        turn.owes = true;
        self.notice(
            NoticeLevel::Warning,
            "the model answered nothing; the agent asks once more".to_owned(),
            out,
        );
        self.schedule(cx, out);
    }

    /// The answer reached its maximal length. The model continues in another answer, a few times.
    fn cut_short(&mut self, said: bool, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(turn) = &mut self.turn else { return };
        let (cuts, calls) = (turn.cuts, !turn.calls.is_empty());
        if cuts > MOST_CUTS {
            let name = self.setup.as_ref().map_or("react", |setup| setup.name.as_str());
            let reason = format!(
                "the model's answer was cut off {cuts} times in a row: it may not write more at once; \
                 set max_output higher under [agents.{name}]"
            );
            return self.fail(TurnErrorCode::Other, reason, cx, out);
        }
        let text = format!(
            "the model's answer was cut off: it may not write more at once (max_output); \
             asking it to go on ({cuts} of {MOST_CUTS})"
        );
        self.notice(NoticeLevel::Warning, text, out);
        match (calls, said) {
            // The results of the calls make the model continue anyway.
            (true, _) => {}
            (false, true) => self.ask_to_go_on(CUT_OFF, out),
            (false, false) => {
                self.ask_to_go_on(
                    "Your last answer was cut off before you said anything. Think less, and answer.",
                    out,
                );
            }
        }
        self.schedule(cx, out);
    }

    /// Adds a message that no person wrote, so that the model continues.
    fn ask_to_go_on(&mut self, words: &str, out: &mut Effects) {
        if let Some(turn) = &mut self.turn {
            turn.owes = true;
        }
        self.say(AgentLine::history(HistoryItem::user(None, words, &[])), out);
    }

    fn answer_failed(&mut self, failure: Failure, cx: &mut Context<'_>, out: &mut Effects) {
        let kept = self.asking().is_some_and(|answer| answer.kept);
        let usage = self.asking().and_then(|answer| answer.usage.take());
        self.drop_growing(false, out);
        if let Some(usage) = usage {
            self.use_up(usage, out);
        }
        let Some(turn) = &mut self.turn else { return };
        if !turn.calls.is_empty() && failure.kind.may_pass() && turn.retries < self.settings.max_retries {
            // The calls that the answer made run and get results; the model continues from there.
            turn.retries += 1;
            turn.owes = true;
            turn.state = TurnPhase::Acting;
            self.notice(NoticeLevel::Warning, failure.message, out);
            return self.schedule(cx, out);
        }
        if failure.kind == FailureKind::TooLong && !turn.has_just_compacted() {
            return self.compact(cx, out);
        }
        if kept && failure.kind.may_pass() {
            self.say(AgentLine::history(HistoryItem::user(None, CUT_OFF, &[])), out);
        }
        self.failed(failure, false, cx, out);
    }

    /// Nothing waits for the answer any more. `keep` says whether the agent remembers the text so far.
    pub(super) fn hush(&mut self, keep: bool, out: &mut Effects) {
        self.drop_growing(keep, out);
        let Some(turn) = &mut self.turn else { return };
        let number = match &turn.state {
            TurnPhase::Asking(answer) | TurnPhase::Compacting(answer) => Some(answer.number),
            TurnPhase::Waiting { .. } | TurnPhase::Acting => None,
        };
        turn.state = TurnPhase::Acting;
        out.extend(number.map(|number| Effect::Hush { number }));
    }

    /// Ends the text and the thought that still grow.
    fn drop_growing(&mut self, keep: bool, out: &mut Effects) {
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let Some(answer) = self.asking() else { return };
        let (step, words, thought) = (answer.step, answer.words.take(), answer.thought.take());
        if let Some(Growing { item, text }) = thought {
            let body = Body::ReasoningDone { partial: true };
            self.say(AgentLine::draft(Draft::new(body).turn(turn).item(item).text(text)), out);
        }
        if let Some(Growing { item, text }) = words {
            let body = Body::MessageDone { phase: None, partial: true };
            let said = AgentLine::draft(Draft::new(body).turn(turn).item(item).text(text.clone()));
            let remembered = keep && !text.trim().is_empty();
            self.say(if remembered { said.remember(HistoryItem::assistant(step, &text)) } else { said }, out);
        }
    }
}
