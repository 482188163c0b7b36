//! The usage and the cost of turns.

use longshore_model::event::{Body, Draft};
use longshore_model::usage::Usage;
use serde_json::Value;

use super::conversation::AcpConversation;
use crate::acp::rows::Counts;
use crate::acp::wire::{Facts, Prompted, TokenUsage};
use crate::claude::translate::usage::sum;
use crate::kit::Scribe;

impl AcpConversation {
    /// `usage_update`: how full the context is, and the cost of the session so far.
    pub(super) fn tokens_used(&mut self, facts: &Facts, scribe: &mut Scribe<'_>) {
        let dollars = facts.cost.as_ref().filter(|cost| cost.currency == "USD");
        self.cost = dollars.and_then(|cost| cost.amount).or(self.cost);
        let usage = Usage {
            // Some agents report no context size when they are stopped.
            context_used: facts.used.filter(|used| *used > 0).or(self.usage.context_used),
            context_window: facts.size.or(self.usage.context_window),
            ..self.usage
        };
        self.tell_usage(usage, scribe);
    }

    /// The usage and the cost of the turn that ends now, as far as the agent reports them.
    pub(super) fn used(
        &mut self,
        prompted: &Prompted,
        counts: Counts,
        scribe: &mut Scribe<'_>,
    ) -> (Option<Usage>, Option<f64>) {
        let Some(turn) = &self.turn else { return (None, None) };
        let (before, cost_before) = (turn.usage_before, turn.cost_before);
        let cost = match (self.cost, cost_before) {
            (Some(now), Some(before)) => Some((now - before).max(0.0)),
            (now, None) => now,
            (None, Some(_)) => None,
        };
        let told = prompted.usage.or_else(|| quota_in(&prompted.meta));
        if told.is_none() && turn.answers != Usage::default() {
            // The agent reported the usage of every answer, so it is in the log already.
            return (Some(turn.answers), cost);
        }
        let total = match (told, counts) {
            (None, _) | (_, Counts::LastAnswer) => return (None, cost),
            (Some(told), Counts::Session) => tokens(told, self.usage),
            (Some(told), Counts::Turn) => {
                let of_turn = tokens(told, self.usage);
                Usage {
                    context_used: self.usage.context_used,
                    context_window: self.usage.context_window,
                    ..sum(before, of_turn)
                }
            }
        };
        self.tell_usage(total, scribe);
        (Some(total.since(&before)), cost)
    }

    /// Handles the usage of one answer of the model. One agent reports it beside a chunk of the answer.
    pub(super) fn answer_used(&mut self, told: TokenUsage, scribe: &mut Scribe<'_>) {
        let used = tokens(told, Usage::default());
        let Some(turn) = &mut self.turn else { return };
        turn.answers = sum(turn.answers, used);
        // The whole conversation was the input of the answer, and the answer is part of the conversation now.
        let context_used = used.input.map(|input| input.saturating_add(used.output.unwrap_or(0)));
        let usage =
            Usage { context_used, context_window: self.usage.context_window, ..sum(self.usage, used) };
        self.tell_usage(usage, scribe);
    }

    /// Emits the usage if it has changed, because agents repeat it.
    fn tell_usage(&mut self, usage: Usage, scribe: &mut Scribe<'_>) {
        if self.usage != usage {
            self.usage = usage;
            scribe.say(self.session, Draft::new(Body::UsageUpdated(usage)).turn(self.turn_id()));
        }
    }
}

/// The token counts, together with what is known about the context. The input includes the tokens read from
/// the cache and written into it.
fn tokens(told: TokenUsage, known: Usage) -> Usage {
    let cached = [told.cached_read_tokens, told.cached_write_tokens].into_iter().flatten();
    let cached = cached.fold(0, u64::saturating_add);
    let (input, output) = (told.input_tokens.unwrap_or(0), told.output_tokens.unwrap_or(0));
    let apart = cached > 0
        && told
            .total_tokens
            .is_some_and(|total| total >= input.saturating_add(output).saturating_add(cached));
    Usage {
        input: told.input_tokens.map(|input| if apart { input.saturating_add(cached) } else { input }),
        cached_input: told.cached_read_tokens,
        output: told.output_tokens,
        reasoning: told.thought_tokens,
        ..known
    }
}

/// `_meta.quota.token_count`, where one agent puts the usage.
fn quota_in(meta: &Value) -> Option<TokenUsage> {
    let count = meta.get("quota")?.get("token_count")?;
    let number = |name: &str| count.get(name).and_then(Value::as_u64);
    let told = TokenUsage {
        input_tokens: number("input_tokens"),
        output_tokens: number("output_tokens"),
        ..TokenUsage::default()
    };
    (told.input_tokens.is_some() || told.output_tokens.is_some()).then_some(told)
}
