//! One turn as the objects of a stream: each event becomes one object, or none.
//!
//! Pure. The same events give the same objects, so a stream that is resumed is read again from the turn's first event.

use std::collections::BTreeMap;

use longshore_model::event::{Body, Event};
use longshore_model::id::{PromptId, Seq, TurnId};
use longshore_model::timeline::{Content, Item, ItemChange};

use super::citations::Citations;
use super::flow::Flow;
use super::tools;
use super::wire::{ChatMessageResponse, ToolCallResponse};
use super::words;
use crate::kernel::Follower;

/// The most characters of the output of one running call. Clients go through all pieces again at every object.
const PARTS_CHARS: usize = tools::RESULT_CHARS;

/// Reads the events of a session from the prompt of one turn on.
pub(super) struct TurnReader {
    follower: Follower,
    voice: Voice,
    /// The prompt of the turn, while the agent does not have it.
    waiting: Option<PromptId>,
    is_over: bool,
}

/// Says what the items of one turn become.
struct Voice {
    turn: TurnId,
    /// The address at which a person can answer.
    place: String,
    cwd: String,
    message: Flow,
    thinking: Flow,
    citations: Citations,
    /// The calls that run, by the event that began them.
    running: BTreeMap<Seq, RunningCall>,
}

struct RunningCall {
    begun: ToolCallResponse,
    /// How many characters of its output may still be sent.
    room: usize,
}

impl TurnReader {
    pub(super) fn new(turn: TurnId, cwd: String, place: String) -> Self {
        let voice = Voice {
            turn,
            place,
            cwd,
            message: Flow::default(),
            thinking: Flow::default(),
            citations: Citations::default(),
            running: BTreeMap::new(),
        };
        Self { follower: Follower::default(), voice, waiting: None, is_over: false }
    }

    /// Whether the turn has ended, so that nothing follows.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// An object that says nothing new.
    pub(super) fn quiet(&self) -> ChatMessageResponse {
        self.voice.object(String::new(), None, Vec::new())
    }

    /// The last object of a stream that cannot go on.
    pub(super) fn broken(&mut self, why: &str) -> ChatMessageResponse {
        self.is_over = true;
        let message = self.voice.message.say(&words::broken(why));
        let ends = self.voice.give_up();
        self.voice.object(message, None, ends)
    }

    /// Reads the next event.
    pub(super) fn read(&mut self, event: &Event) -> Option<ChatMessageResponse> {
        if self.is_over {
            return None;
        }
        if let Body::PromptQueued { prompt, turn_id, .. } = &event.body {
            let is_ours = *turn_id == self.voice.turn && self.waiting.is_none();
            self.waiting = self.waiting.or(is_ours.then_some(*prompt));
            return is_ours.then(|| self.quiet());
        }
        if let (Some(prompt), Some(said)) = (self.waiting, self.of_queue(event)) {
            self.is_over = matches!(event.body, Body::PromptCancelled { prompt: back } if back == prompt);
            let message = self.voice.message.say(&said);
            return Some(self.voice.object(message, None, Vec::new()));
        }
        if event.turn == Some(self.voice.turn) {
            self.waiting = None;
            self.is_over = matches!(event.body, Body::TurnFinished(_));
        }
        let change = self.follower.apply(event)?;
        self.voice.say(&change, event)
    }

    /// What happened to the prompt while it waits.
    fn of_queue(&self, event: &Event) -> Option<String> {
        if let Body::PromptCancelled { prompt } = &event.body {
            (self.waiting == Some(*prompt)).then(|| words::TAKEN_BACK.to_owned())
        } else if matches!(event.body, Body::QueueHeld) {
            Some(words::held(event.text(), &self.voice.place))
        } else {
            None
        }
    }
}

impl Voice {
    fn say(&mut self, change: &ItemChange<'_>, event: &Event) -> Option<ChatMessageResponse> {
        let item = change.item;
        if item.turn != Some(self.turn) {
            return None;
        }
        match &item.content {
            Content::Message { .. } => {
                let piece = self.message.follow(change)?;
                Some(self.object(piece, None, Vec::new()))
            }
            Content::Reasoning { .. } => {
                let piece = self.thinking.follow(change)?;
                Some(self.object(String::new(), Some(piece), Vec::new()))
            }
            Content::Tool { .. }
            | Content::Delegation { .. }
            | Content::Diff { .. }
            | Content::Plan { .. } => {
                let calls = self.call(change, event);
                (!calls.is_empty()).then(|| self.object(String::new(), None, calls))
            }
            Content::Approval { .. } | Content::Question { .. } => self.sentence(item),
            Content::Notice { .. } if change.began => self.sentence(item),
            Content::TurnEnd(_) => {
                let ends = self.give_up();
                let message = words::sentence(item, &self.place).map(|said| self.message.say(&said));
                Some(self.object(message.unwrap_or_default(), None, ends))
            }
            // The client shows the user's own message by itself, and has no place for the diff of a whole turn: its
            // files are citations.
            Content::Notice { .. } | Content::UserMessage { .. } | Content::TurnDiff => None,
        }
    }

    fn sentence(&mut self, item: &Item) -> Option<ChatMessageResponse> {
        let said = words::sentence(item, &self.place)?;
        let message = self.message.say(&said);
        Some(self.object(message, None, Vec::new()))
    }

    /// What a call of a tool becomes: its beginning, a piece of its output, its end.
    fn call(&mut self, change: &ItemChange<'_>, event: &Event) -> Vec<ToolCallResponse> {
        let item = change.item;
        if let Some(ended) = tools::ended(item) {
            self.citations.add(item, &self.cwd);
            let begun = self.running.remove(&item.seq).is_none() && change.began;
            // Clients know a call that ends from its beginning.
            return begun.then(|| tools::begun(item)).flatten().into_iter().chain([ended]).collect();
        }
        if let Some(grew) = change.grew {
            return self.part(item, grew).into_iter().collect();
        }
        let is_new = matches!(
            event.body,
            Body::ToolStarted(_) | Body::ToolUpdated(_) | Body::DelegationStarted(_) | Body::FileDiff(_)
        );
        let begun = tools::begun(item).filter(|_| is_new || change.began);
        begun.filter(|begun| self.begin(item, begun)).into_iter().collect()
    }

    /// Remembers how a call began; returns false if that is known.
    fn begin(&mut self, item: &Item, begun: &ToolCallResponse) -> bool {
        let running = self.running.entry(item.seq);
        let known = running.or_insert_with(|| RunningCall { begun: blank(begun), room: PARTS_CHARS });
        let is_new = known.begun != *begun;
        known.begun = begun.clone();
        is_new
    }

    fn part(&mut self, item: &Item, grew: &str) -> Vec<ToolCallResponse> {
        let first = (!self.running.contains_key(&item.seq)).then(|| tools::begun(item)).flatten();
        if let Some(begun) = &first {
            self.begin(item, begun);
        }
        let Some(running) = self.running.get_mut(&item.seq) else { return Vec::new() };
        let piece: String = grew.chars().take(running.room).collect();
        running.room -= piece.chars().count();
        let part = (!piece.is_empty()).then(|| tools::part(item, &piece)).flatten();
        first.into_iter().chain(part).collect()
    }

    /// The ends of all calls that still run.
    fn give_up(&mut self) -> Vec<ToolCallResponse> {
        std::mem::take(&mut self.running).values().map(|running| tools::given_up(&running.begun)).collect()
    }

    fn object(
        &self,
        message: String,
        thinking: Option<String>,
        tool_calls: Vec<ToolCallResponse>,
    ) -> ChatMessageResponse {
        ChatMessageResponse { message, citations: self.citations.files(), tool_calls, thinking }
    }
}

/// A call of which nothing is known.
fn blank(of: &ToolCallResponse) -> ToolCallResponse {
    ToolCallResponse { tool_name: String::new(), ..of.clone() }
}
