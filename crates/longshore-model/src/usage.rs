//! What a turn or a session has used. Unknown is `None`, never 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was used on one day (in UTC) with one agent in one project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DayUsage {
    /// The day: `2026-11-15`.
    pub day: String,
    /// Which agent.
    pub agent: String,
    /// The name of the work tree's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Tokens read by the model, cached ones included.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Of those read, from the cache.
    pub cached: u64,
    /// What it cost, as far as agents say so.
    pub cost: f64,
    /// How many turns.
    pub turns: u64,
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Read by the model, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Of these, from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<u64>,
    /// Written by the model, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Of these, thought and not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// How much the model can hold at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How much of that is taken now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_used: Option<u64>,
}

impl Usage {
    /// How full the context is, in percent.
    pub fn context_percent(&self) -> Option<u8> {
        let (used, window) = (self.context_used?, self.context_window?);
        (window > 0).then(|| (used.saturating_mul(100) / window).min(100) as u8)
    }

    /// Both together. How full the context is, is as `self` says.
    #[must_use]
    pub fn plus(&self, other: &Usage) -> Usage {
        self.with(other, |a, b| a.saturating_add(b))
    }

    /// The same, but in nothing less than `other`: an agent that was started again may count from nothing.
    #[must_use]
    pub fn at_least(&self, other: &Usage) -> Usage {
        self.with(other, u64::max)
    }

    fn with(&self, other: &Usage, join: impl Fn(u64, u64) -> u64) -> Usage {
        let join = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(join(a, b)),
            (one, None) | (None, one) => one,
        };
        Usage {
            input: join(self.input, other.input),
            cached_input: join(self.cached_input, other.cached_input),
            output: join(self.output, other.output),
            reasoning: join(self.reasoning, other.reasoning),
            context_window: self.context_window.or(other.context_window),
            context_used: self.context_used.or(other.context_used),
        }
    }

    /// What was used between `before` and now; both are totals of one session.
    #[must_use]
    pub fn since(&self, before: &Usage) -> Usage {
        let less = |now: Option<u64>, then: Option<u64>| now.map(|now| now.saturating_sub(then.unwrap_or(0)));
        Usage {
            input: less(self.input, before.input),
            cached_input: less(self.cached_input, before.cached_input),
            output: less(self.output, before.output),
            reasoning: less(self.reasoning, before.reasoning),
            context_window: self.context_window,
            context_used: self.context_used,
        }
    }
}
