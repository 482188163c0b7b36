//! The usage and the cost of turns.
//!
//! The tokens of a `result` are the tokens of its turn, but its cost is the cost of the whole process. A
//! process that resumes a conversation begins to count at zero. Then nobody knows the usage of the whole
//! session.

use longshore_model::event::{Body, Draft};
use longshore_model::usage::Usage;

use super::conversation::MAIN;
use super::{Claude, WireError};
use crate::claude::wire::{self, Event, Tokens};
use crate::kit::Scribe;

/// The counts so far.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The cost of the process at the end of the last turn.
    cost: f64,
    /// The usage of finished turns.
    spent: Usage,
    /// The usage of this turn's messages, as far as the model reported it.
    turn: Usage,
    /// The tokens of the message that the model writes now.
    message: Tokens,
    context_used: Option<u64>,
    context_window: Option<u64>,
    /// Whether the conversation existed before this process.
    pub resumed: bool,
    /// The usage that was last reported.
    told: Option<Usage>,
}

impl Ledger {
    pub(super) fn message_began(&mut self, at: usize, tokens: Option<Tokens>) {
        if at == MAIN {
            self.message = tokens.unwrap_or_default();
        }
    }

    /// A message is complete: its present count replaces the count of its beginning.
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

    /// The usage and the cost of a turn that is over. No count means that Claude did not count, for example
    /// for an answer that came in one piece after a broken stream.
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
        // This counts all models that the process ever used, also the models of sub-agents.
        let own =
            model.and_then(|model| result.model_usage.get(model)).and_then(|usage| usage.context_window);
        let only = || result.model_usage.values().filter_map(|usage| usage.context_window).max();
        self.context_window = own.or_else(only).or(self.context_window);
        let cost = result.total_cost_usd.map(|total| {
            let since = if total < self.cost { total } else { total - self.cost };
            self.cost = total;
            // A rest below a billionth comes from the subtraction and is no money.
            (since * 1e9).round() / 1e9
        });
        let used = used.map(|used| Usage {
            context_window: self.context_window,
            context_used: self.context_used,
            ..used
        });
        (used, cost.filter(|cost| *cost > 0.0))
    }

    /// The usage of the session so far, if it has changed.
    pub(super) fn news(&mut self) -> Option<Usage> {
        let total = if self.resumed { Usage::default() } else { sum(self.spent, self.turn) };
        let now = Usage { context_window: self.context_window, context_used: self.context_used, ..total };
        (self.told.replace(now) != Some(now) && now != Usage::default()).then_some(now)
    }

    /// The conversation was cleared, and so was its context.
    pub(super) fn emptied(&mut self) {
        self.context_used = None;
    }
}

impl Claude {
    /// `message_delta`, which reports the usage of a message.
    pub(super) fn message_counted(
        &mut self,
        at: usize,
        event: &Event<'_>,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let (MAIN, Some(usage)) = (at, event.usage) else { return Ok(()) };
        self.ledger.message_ended(serde_json::from_str::<Tokens>(usage.get())?);
        if let (Some(conversation), Some(usage)) = (self.conversations.get(MAIN), self.ledger.news()) {
            let draft = Draft::new(Body::UsageUpdated(usage)).turn(conversation.turn);
            scribe.quote(conversation.session, draft);
        }
        Ok(())
    }
}

/// The usage of these tokens. Claude's input count leaves out tokens read from the cache and written into it.
pub(crate) fn usage_of(tokens: Tokens) -> Usage {
    let parts = [tokens.input_tokens, tokens.cache_creation_input_tokens, tokens.cache_read_input_tokens];
    Usage {
        input: parts.into_iter().flatten().reduce(u64::saturating_add),
        cached_input: tokens.cache_read_input_tokens,
        output: tokens.output_tokens,
        ..Usage::default()
    }
}

/// The sum of two usages. If only one has a value, the sum has this value.
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
