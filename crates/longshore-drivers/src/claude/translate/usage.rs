//! What turns use and cost.
//!
//! The tokens of a `result` are those of its turn, its cost is that of the whole process. A process that resumed a
//! conversation begins to count anew, so what the session used in all is then not known.

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::usage::Usage;

use super::conversation::MAIN;
use super::{Claude, WireError};
use crate::claude::wire::{self, Event, Tokens};

/// What was counted so far.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// What the process had cost when a turn last ended.
    cost: f64,
    /// What the turns that are over used.
    spent: Usage,
    /// What the messages of this turn used, as far as the model said.
    turn: Usage,
    /// The message that is being written.
    message: Tokens,
    context_used: Option<u64>,
    context_window: Option<u64>,
    /// The conversation was there before this process.
    pub resumed: bool,
    /// What was told last.
    told: Option<Usage>,
}

impl Ledger {
    pub(super) fn message_began(&mut self, at: usize, tokens: Option<Tokens>) {
        if at == MAIN {
            self.message = tokens.unwrap_or_default();
        }
    }

    /// A message is written: what it counts now comes on top of what it counted when it began.
    fn message_ended(&mut self, last: Tokens) {
        let first = std::mem::take(&mut self.message);
        let counted = usage_of(Tokens {
            input_tokens: last.input_tokens.or(first.input_tokens),
            cache_creation_input_tokens: last
                .cache_creation_input_tokens
                .or(first.cache_creation_input_tokens),
            cache_read_input_tokens: last.cache_read_input_tokens.or(first.cache_read_input_tokens),
            output_tokens: last.output_tokens.or(first.output_tokens),
        });
        self.context_used = match (counted.input, counted.output) {
            (Some(input), output) => Some(input.saturating_add(output.unwrap_or(0))),
            (None, _) => self.context_used,
        };
        self.turn = sum(self.turn, counted);
    }

    /// A turn is over: what it used and what it cost. Nothing is what it counts when it did not count, as with an
    /// answer that came in one piece after a stream that broke.
    pub(super) fn turn_ended(
        &mut self,
        result: &wire::Result,
        model: Option<&str>,
    ) -> (Option<Usage>, Option<f64>) {
        self.turn = Usage::default();
        let used = result.usage.map(usage_of).filter(|used| used.input.unwrap_or(0) > 0);
        if let Some(used) = used {
            self.spent = sum(self.spent, used);
        }
        // All models that the process ever used are told, those of sub-agents too.
        let own =
            model.and_then(|model| result.model_usage.get(model)).and_then(|usage| usage.context_window);
        let only = || result.model_usage.values().filter_map(|usage| usage.context_window).max();
        self.context_window = own.or_else(only).or(self.context_window);
        let cost = result.total_cost_usd.map(|total| {
            let since = if total < self.cost { total } else { total - self.cost };
            self.cost = total;
            // What is left of the subtraction beyond a billionth is no money.
            (since * 1e9).round() / 1e9
        });
        let used = used.map(|used| Usage {
            context_window: self.context_window,
            context_used: self.context_used,
            ..used
        });
        (used, cost.filter(|cost| *cost > 0.0))
    }

    /// What the session has used so far, if that is news.
    pub(super) fn news(&mut self) -> Option<Usage> {
        let total = if self.resumed { Usage::default() } else { sum(self.spent, self.turn) };
        let now = Usage { context_window: self.context_window, context_used: self.context_used, ..total };
        (self.told.replace(now) != Some(now) && now != Usage::default()).then_some(now)
    }

    /// The conversation is forgotten, and with it what filled the context.
    pub(super) fn emptied(&mut self) {
        self.context_used = None;
    }
}

impl Claude {
    /// `message_delta`, which tells what a message used.
    pub(super) fn message_counted(
        &mut self,
        at: usize,
        event: &Event<'_>,
        raw: &Raw,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let (MAIN, Some(usage)) = (at, event.usage) else { return Ok(()) };
        self.ledger.message_ended(serde_json::from_str::<Tokens>(usage.get())?);
        if let (Some(conversation), Some(usage)) = (self.conversations.get(MAIN), self.ledger.news()) {
            let draft = Draft::new(Body::UsageUpdated(usage)).turn(conversation.turn);
            out.say(conversation.session, draft.raw(raw.clone()));
        }
        Ok(())
    }
}

/// Their input leaves out what came from the cache and what went into it.
pub(crate) fn usage_of(tokens: Tokens) -> Usage {
    let parts = [tokens.input_tokens, tokens.cache_creation_input_tokens, tokens.cache_read_input_tokens];
    Usage {
        input: parts.into_iter().flatten().reduce(u64::saturating_add),
        cached_input: tokens.cache_read_input_tokens,
        output: tokens.output_tokens,
        ..Usage::default()
    }
}

/// Both together; what only one knows is what it says.
pub(crate) fn sum(one: Usage, other: Usage) -> Usage {
    let add = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    Usage {
        input: add(one.input, other.input),
        cached_input: add(one.cached_input, other.cached_input),
        output: add(one.output, other.output),
        reasoning: add(one.reasoning, other.reasoning),
        context_window: other.context_window.or(one.context_window),
        context_used: other.context_used.or(one.context_used),
    }
}
