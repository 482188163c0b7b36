//! The projection of one session onto one thread: what stands open at the beginning, and what each event changes.

use std::borrow::Cow;

use longshore_model::event::{Body, Event};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::info::SessionInfo;
use longshore_model::item::{PlanStatus, PlanStep as Step};
use longshore_model::lifecycle::TurnEnd;
use longshore_model::timeline::{Content, Item, ItemChange, Timeline};

use super::items::{CallFace, id_of, outcome_word, thread_item};
use super::wire::{Params, PlanStep, ServerFrame, ThreadItem, Turn, TurnFault};
use super::{asks, diffs};
use crate::kernel::Follower;
use crate::kernel::ask::Ask;

/// The most bytes that a client gets again when it comes back, besides the oldest of these items.
const AGAIN_BYTES: usize = 256 << 10;

/// One thread, as a client follows it.
pub(super) struct ThreadFeed {
    thread: SessionId,
    home: String,
    turn: Option<TurnId>,
    follower: Follower,
}

impl ThreadFeed {
    pub(super) fn new(info: &SessionInfo, follower: Follower) -> Self {
        Self { thread: info.session_id, home: info.cwd.clone(), turn: info.turn, follower }
    }

    /// Folds an event, and returns what it changes for the client.
    pub(super) fn apply(&mut self, event: &Event) -> Vec<String> {
        let mut writer = FrameWriter { thread: self.thread, home: &self.home, frames: Vec::new() };
        if let (Body::TurnStarted { .. }, Some(turn)) = (&event.body, event.turn) {
            self.turn = Some(turn);
            writer.turn_started(turn);
        }
        if let (Body::TurnFinished(_), Some(turn)) = (&event.body, event.turn)
            && self.turn == Some(turn)
        {
            self.turn = None;
        }
        let change = self.follower.apply(event);
        let changed_files =
            change.as_ref().and_then(|change| change.item.turn.filter(|_| diffs::changed(change)));
        if let Some(change) = change {
            writer.changed(&change);
        }
        if let Some(turn) = changed_files {
            writer.diff(self.follower.timeline(), turn);
        }
        writer.frames
    }

    /// The newest ended items, one frame each, for a client that was away: it replaces what it has and adds what it
    /// missed.
    ///
    /// The client takes a thought that it was in the middle of for the next thought that ends, so its turn begins anew.
    pub(super) fn again(&self) -> Vec<String> {
        let mut writer = FrameWriter { thread: self.thread, home: &self.home, frames: Vec::new() };
        let items = &self.follower.timeline().items;
        let mut bytes = 0;
        for item in items.iter().rev().filter(|item| item.ended_at.is_some()) {
            let before = writer.frames.len();
            let is_prompt = matches!(item.content, Content::UserMessage { .. });
            writer.item(if is_prompt { "item/started" } else { "item/completed" }, item);
            bytes += writer.frames[before..].iter().map(String::len).sum::<usize>();
            if bytes > AGAIN_BYTES {
                break;
            }
        }
        let last = self.turn.or_else(|| items.iter().rev().find_map(end_of).map(|(turn, _)| turn));
        last.into_iter().for_each(|turn| writer.turn_started(turn));
        writer.frames.reverse();
        writer.frames
    }

    /// Whether this thread asks this, or has asked it lately.
    pub(super) fn asks(&self, ask: Ask) -> bool {
        let asked = |item: &Item| {
            if let Content::Approval { request, .. } = &item.content {
                Some(Ask::Approval(request.approval))
            } else if let Content::Question { request, .. } = &item.content {
                Some(Ask::Question(request.question))
            } else {
                None
            }
        };
        self.follower.timeline().items.iter().any(|item| asked(item) == Some(ask))
    }

    /// What stands open: the turn, texts so far, approvals, questions. A client may get it more than once.
    pub(super) fn open(&self) -> Vec<String> {
        let mut writer = FrameWriter { thread: self.thread, home: &self.home, frames: Vec::new() };
        let items = &self.follower.timeline().items;
        match self.turn {
            Some(turn) => writer.turn_started(turn),
            None => items
                .iter()
                .rev()
                .find_map(end_of)
                .into_iter()
                .for_each(|(turn, end)| writer.turn_ended(turn, end)),
        }
        let last = self.turn.or_else(|| items.last().and_then(|item| item.turn));
        let plan = items.iter().rev().find(|item| item.turn == last && is_list(item));
        plan.into_iter().for_each(|plan| writer.plan(plan));
        for item in items.iter().filter(|item| item.ended_at.is_none()) {
            writer.so_far(item);
        }
        writer.frames
    }
}

/// The frame that closes the card of an approval or question.
pub(super) fn closing(thread: SessionId, card: String, line: String) -> String {
    let item = super::items::closed(card, line, false);
    let params = Params::Item { thread_id: thread, turn_id: None, item };
    ServerFrame::notification("item/completed", params).text()
}

fn end_of(item: &Item) -> Option<(TurnId, &TurnEnd)> {
    if let Content::TurnEnd(end) = &item.content { item.turn.map(|turn| (turn, end)) } else { None }
}

/// Whether an item is a plan that is a list of steps.
fn is_list(item: &Item) -> bool {
    matches!(&item.content, Content::Plan { steps } if !steps.is_empty())
}

/// Writes the frames of one thread.
struct FrameWriter<'a> {
    thread: SessionId,
    home: &'a str,
    frames: Vec<String>,
}

impl FrameWriter<'_> {
    fn say(&mut self, method: &'static str, params: Params<'_>) {
        self.frames.push(ServerFrame::notification(method, params).text());
    }

    fn item(&mut self, method: &'static str, item: &Item) {
        let Some(shown) = thread_item(item) else { return };
        self.say(method, Params::Item { thread_id: self.thread, turn_id: item.turn, item: shown });
    }

    fn turn_started(&mut self, turn: TurnId) {
        let shown = Turn { id: turn.to_string(), status: "inProgress", error: None, items: Vec::new() };
        let params =
            Params::Turn { thread_id: self.thread, turn_id: turn, status: "InProgress", turn: shown };
        self.say("turn/started", params);
    }

    fn turn_ended(&mut self, turn: TurnId, end: &TurnEnd) {
        let params = turn_ended(self.thread, turn, end);
        self.say("turn/completed", params);
    }

    fn changed(&mut self, change: &ItemChange<'_>) {
        let item = change.item;
        if change.settled() {
            return self.settled(item);
        }
        if let Some(request) = asks::request(self.thread, self.home, item) {
            return self.frames.push(request.text());
        }
        match change.grew {
            Some(text) => {
                if change.began {
                    self.item("item/started", item);
                }
                self.grew(item, text);
            }
            None => self.item("item/started", item),
        }
    }

    /// The item has its final content.
    fn settled(&mut self, item: &Item) {
        if is_list(item) {
            return self.plan(item);
        }
        if matches!(item.content, Content::UserMessage { .. }) {
            self.item("item/started", item);
        }
        self.item("item/completed", item);
        if let Some((turn, end)) = end_of(item) {
            self.turn_ended(turn, end);
        }
    }

    fn grew(&mut self, item: &Item, text: &str) {
        let method = match &item.content {
            Content::Message { .. } => "item/agentMessage/delta",
            Content::Reasoning { .. } => "item/reasoning/summaryTextDelta",
            Content::Plan { .. } => "item/plan/delta",
            Content::Tool { call, changes, .. } => match CallFace::of(call, changes) {
                CallFace::Command => "item/commandExecution/outputDelta",
                CallFace::Files => "item/fileChange/outputDelta",
                CallFace::Tool => {
                    // The client adds a line break of its own to each of these.
                    let message = text.strip_suffix('\n').unwrap_or(text);
                    let (thread_id, turn_id, item_id) = (self.thread, item.turn, id_of(item));
                    let params = Params::Progress { thread_id, turn_id, item_id, message };
                    return self.say("item/mcpToolCall/progress", params);
                }
                CallFace::Search | CallFace::Picture => return,
            },
            Content::UserMessage { .. }
            | Content::Diff { .. }
            | Content::TurnDiff
            | Content::Approval { .. }
            | Content::Question { .. }
            | Content::Delegation { .. }
            | Content::TurnEnd(_)
            | Content::Notice { .. } => return,
        };
        let params =
            Params::Delta { thread_id: self.thread, turn_id: item.turn, item_id: id_of(item), delta: text };
        self.say(method, params);
    }

    /// An item in the middle of its growth. The client ends its own copy of the text with the first frame and begins
    /// anew with the second, so that it is right however often it gets both.
    fn so_far(&mut self, item: &Item) {
        if let Some(request) = asks::request(self.thread, self.home, item) {
            return self.frames.push(request.text());
        }
        self.item("item/started", item);
        let restarts = match &item.content {
            Content::Message { .. } | Content::Tool { .. } => true,
            Content::Plan { steps } => steps.is_empty(),
            // The start of the turn emptied it.
            Content::Reasoning { .. } => false,
            Content::UserMessage { .. }
            | Content::Diff { .. }
            | Content::TurnDiff
            | Content::Approval { .. }
            | Content::Question { .. }
            | Content::Delegation { .. }
            | Content::TurnEnd(_)
            | Content::Notice { .. } => return,
        };
        if item.text.is_empty() {
            return;
        }
        if restarts {
            self.item("item/completed", item);
        }
        self.grew(item, &item.text);
    }

    fn plan(&mut self, item: &Item) {
        let Content::Plan { steps } = &item.content else { return };
        let explanation = Some(item.text.as_str()).filter(|text| !text.is_empty());
        let plan = steps.iter().map(step).collect();
        let params = Params::Plan { thread_id: self.thread, turn_id: item.turn, explanation, plan };
        self.say("turn/plan/updated", params);
    }

    fn diff(&mut self, timeline: &Timeline, turn: TurnId) {
        let items = timeline.items.iter().filter(|item| item.turn == Some(turn));
        let diff = diffs::of_turn(items, self.home);
        if !diff.is_empty() {
            self.say(
                "turn/diff/updated",
                Params::Diff { thread_id: self.thread, turn_id: turn, diff: Cow::Owned(diff) },
            );
        }
    }
}

fn step(step: &Step) -> PlanStep<'_> {
    let status = match step.status {
        PlanStatus::Pending => "Pending",
        PlanStatus::InProgress => "InProgress",
        PlanStatus::Completed => "Completed",
    };
    PlanStep { step: &step.text, status }
}

/// The parameters of `turn/completed`.
pub(super) fn turn_ended(thread: SessionId, turn: TurnId, end: &TurnEnd) -> Params<'_> {
    let status = outcome_word(end.outcome);
    let error = end.error.as_ref().map(|error| TurnFault { message: &error.message });
    let word = match status {
        "completed" => "Completed",
        "interrupted" => "Interrupted",
        _ => "Failed",
    };
    let shown = Turn { id: turn.to_string(), status, error, items: Vec::new() };
    Params::Turn { thread_id: thread, turn_id: turn, status: word, turn: shown }
}

/// The turns of a timeline: what ended, and what stands open as far as it is known.
pub(super) fn turns<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    let mut of = None;
    for item in items {
        if let Some((_, end)) = end_of(item)
            && let Some(turn) = turns.last_mut()
        {
            turn.status = outcome_word(end.outcome);
            turn.error = end.error.as_ref().map(|error| TurnFault { message: &error.message });
        }
        let Some(shown) = thread_item(item).filter(|shown| !is_blank(shown)) else { continue };
        match turns.last_mut() {
            // What belongs to no turn stands where it happened.
            Some(turn) if item.turn.is_none() || item.turn == of => turn.items.push(shown),
            Some(_) | None => {
                of = item.turn;
                let id = of.map_or_else(|| format!("before-{}", item.seq), |turn| turn.to_string());
                let status = if of.is_some() { "inProgress" } else { "completed" };
                turns.push(Turn { id, status, error: None, items: vec![shown] });
            }
        }
    }
    turns
}

/// Whether there is nothing to see of an item yet.
fn is_blank(item: &ThreadItem<'_>) -> bool {
    if let ThreadItem::AgentMessage { text, .. } = item {
        text.is_empty()
    } else if let ThreadItem::Reasoning { summary, .. } = item {
        summary[0].is_empty()
    } else {
        false
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use longshore_model::session::Session;
    use serde_json::{Value, json};

    use super::super::screen::Screen;
    use super::*;

    /// The made-up sessions that every fold of the timeline runs.
    fn sessions() -> Vec<(String, Vec<Event>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../longshore-model/tests/vectors");
        let read = |path: std::path::PathBuf| {
            let vector: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            (path.display().to_string(), serde_json::from_value(vector["events"].clone()).unwrap())
        };
        std::fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap().path())).collect()
    }

    pub(in super::super) fn info(events: &[Event]) -> SessionInfo {
        Session::fold(events).unwrap().info()
    }

    pub(in super::super) fn hear(screen: &mut Screen, texts: Vec<String>) {
        texts.iter().for_each(|text| screen.hear(&serde_json::from_str(text).unwrap()));
    }

    /// What a client is shown that reads the thread at this moment.
    pub(in super::super) fn joined(events: &[Event]) -> (ThreadFeed, Screen) {
        let mut follower = Follower::default();
        for event in events {
            follower.apply(event);
        }
        let (info, timeline) = (info(events), Timeline::of(events));
        let feed = ThreadFeed::new(&info, follower);
        let mut screen = Screen::new(info.session_id);
        let turns = json!(super::super::threads::thread(&info, turns(&timeline.items)));
        if turns.get("turns").is_some() {
            screen.load(&turns["turns"]);
        }
        hear(&mut screen, feed.open());
        (feed, screen)
    }

    #[test]
    fn after_every_event_a_client_that_follows_and_one_that_comes_see_the_session_as_it_is() {
        let sessions = sessions();
        assert!(sessions.len() >= 7);
        for (name, events) in sessions {
            for at in 1..=events.len() {
                println!("{name}: {at} of {}", events.len());
                let (mut feed, mut screen) = joined(&events[..at]);
                let works = |at: usize| info(&events[..at]).turn.is_some();
                screen.check(&Timeline::of(&events[..at]), works(at));
                for next in at..events.len() {
                    hear(&mut screen, feed.apply(&events[next]));
                    screen.check(&Timeline::of(&events[..=next]), works(next + 1));
                }
            }
        }
    }

    #[test]
    fn who_hears_the_same_twice_sees_it_once() {
        for (name, events) in sessions() {
            for at in 1..=events.len() {
                let (mut feed, mut screen) = joined(&events[..at]);
                let before = (screen.cards.len(), screen.asked.clone());
                hear(&mut screen, feed.again());
                hear(&mut screen, feed.open());
                hear(&mut screen, feed.open());
                assert_eq!((screen.cards.len(), screen.asked.clone()), before, "{name} at {at}");
                for event in &events[at..] {
                    hear(&mut screen, feed.apply(event));
                }
                screen.check(&Timeline::of(&events), info(&events).turn.is_some());
            }
        }
    }

    #[test]
    fn who_was_away_for_some_events_misses_nothing() {
        for (name, events) in sessions() {
            for at in 1..=events.len() {
                for back in at..=events.len() {
                    let (_, mut screen) = joined(&events[..at]);
                    let (feed, _) = joined(&events[..back]);
                    hear(&mut screen, feed.again());
                    hear(&mut screen, feed.open());
                    println!("{name}: away from {at} to {back}");
                    screen.check(&Timeline::of(&events[..back]), info(&events[..back]).turn.is_some());
                }
            }
        }
    }
}
