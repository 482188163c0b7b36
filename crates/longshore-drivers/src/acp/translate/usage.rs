//! What turns use and cost.

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft};
use longshore_model::usage::Usage;
use serde_json::Value;

use super::conversation::AcpConversation;
use crate::acp::rows::Counts;
use crate::acp::wire::{Facts, Prompted, TokenUsage};
use crate::claude::translate::usage::sum;

impl AcpConversation {
    /// `usage_update`: how full the model is, and what the session has cost so far.
    pub(super) fn tokens_used(&mut self, facts: &Facts, out: &mut Output) {
        let dollars = facts.cost.as_ref().filter(|cost| cost.currency == "USD");
        self.cost = dollars.and_then(|cost| cost.amount).or(self.cost);
        let usage = Usage {
            // Some forget it when they are stopped.
            context_used: facts.used.filter(|used| *used > 0).or(self.usage.context_used),
            context_window: facts.size.or(self.usage.context_window),
            ..self.usage
        };
        self.tell_usage(usage, out);
    }

    /// What the turn that ends now has used and cost, as far as that is told.
    pub(super) fn used(
        &mut self,
        prompted: &Prompted,
        counts: Counts,
        out: &mut Output,
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
            // It told what every answer used, and that is told already.
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
        self.tell_usage(total, out);
        (Some(total.since(&before)), cost)
    }

    /// What one answer of the model used, which one agent tells beside a piece of it.
    pub(super) fn answer_used(&mut self, told: TokenUsage, out: &mut Output) {
        let used = tokens(told, Usage::default());
        let Some(turn) = &mut self.turn else { return };
        turn.answers = sum(turn.answers, used);
        // The whole conversation went into the answer, and the answer is part of it now.
        let context_used = used.input.map(|input| input.saturating_add(used.output.unwrap_or(0)));
        let usage =
            Usage { context_used, context_window: self.usage.context_window, ..sum(self.usage, used) };
        self.tell_usage(usage, out);
    }

    /// Agents repeat it; what is not news is not told.
    fn tell_usage(&mut self, usage: Usage, out: &mut Output) {
        if self.usage != usage {
            self.usage = usage;
            out.say(self.session, Draft::new(Body::UsageUpdated(usage)).turn(self.turn_id()));
        }
    }
}

/// Counts of tokens beside what is known of the context. The input holds what came from the cache and what went into it.
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

/// `_meta.quota.token_count`, where one agent puts it.
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
