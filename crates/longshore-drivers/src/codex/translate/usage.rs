//! The usage of turns, and the used part of an account's allowance.

use longshore_model::event::{Body, Draft};
use longshore_model::lifecycle::UsageLimit;
use longshore_model::usage::Usage;
use serde_json::value::RawValue;

use super::{Codex, WireError};
use crate::codex::wire;
use crate::kit::Scribe;

impl Codex {
    pub(super) fn tokens_used(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let wire::TokenUsage { thread_id, turn_id, token_usage } = serde_json::from_str(params.get())?;
        let Some(thread) = self.threads.get_mut(&thread_id) else { return Ok(()) };
        let wire::Tokens { total, last, model_context_window } = token_usage;
        let used = usage_of(total, model_context_window, last.total_tokens);
        if thread.usage == Some(used) {
            return Ok(());
        }
        thread.usage = Some(used);
        let turn = thread.turns.get_mut(&turn_id);
        let id = turn.as_ref().and_then(|turn| turn.id);
        if let Some(turn) = turn {
            // A resumed thread has used tokens before. This is the first report of them.
            turn.usage_before.get_or_insert_with(|| used.since(&usage_of(last, None, 0)));
            turn.used = true;
        }
        scribe.quote(thread.session, Draft::new(Body::UsageUpdated(used)).turn(id));
        Ok(())
    }

    pub(super) fn rate_limits(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let wire::RateLimitsUpdated { rate_limits } = serde_json::from_str(params.get())?;
        let Some(session) = self.nearest() else { return Ok(()) };
        let base = rate_limits.limit_name.or(rate_limits.limit_id).unwrap_or_else(|| "account".to_owned());
        for window in [rate_limits.primary, rate_limits.secondary].into_iter().flatten() {
            let name = match window.window_duration_mins {
                Some(minutes) => format!("{base} {}", span(minutes)),
                None => base.clone(),
            };
            let now = (window.used_percent, window.resets_at);
            if self.limits.insert(name.clone(), now) != Some(now) {
                let limit =
                    UsageLimit { name, used_percent: window.used_percent, resets_at: window.resets_at };
                scribe.quote_once(session, Draft::new(Body::UsageLimited(limit)));
            }
        }
        Ok(())
    }
}

pub(crate) fn usage_of(count: wire::TokenCount, window: Option<u64>, context: u64) -> Usage {
    Usage {
        input: Some(count.input_tokens),
        cached_input: Some(count.cached_input_tokens),
        output: Some(count.output_tokens),
        reasoning: Some(count.reasoning_output_tokens),
        context_window: window,
        context_used: Some(context),
    }
}

/// 300 minutes become `5 h`.
fn span(minutes: u64) -> String {
    match minutes {
        days if days > 0 && days % 1_440 == 0 => format!("{} d", days / 1_440),
        hours if hours > 0 && hours % 60 == 0 => format!("{} h", hours / 60),
        minutes => format!("{minutes} min"),
    }
}
