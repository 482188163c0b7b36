//! The tokens that a turn or a session has used. Unknown values are `None`, never 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The usage of one day (in UTC) with one agent in one project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DayUsage {
    /// The day: `2026-11-15`.
    pub day: String,
    /// The agent.
    pub agent: String,
    /// The name of the work tree's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Tokens that the model read, cached ones included.
    pub input: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// The part of `input` that came from the cache.
    pub cached: u64,
    /// The cost in dollars, as far as agents report it.
    pub cost: f64,
    /// The number of turns.
    pub turns: u64,
}

/// Numbers of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens that the model read, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// The part of `input` that came from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<u64>,
    /// Tokens that the model wrote, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The part of `output` that was reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// The size of the model's context window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How much of the context window is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_used: Option<u64>,
}

impl Usage {
    /// How full the context window is, in percent.
    pub fn context_percent(&self) -> Option<u8> {
        let (used, window) = (self.context_used?, self.context_window?);
        (window > 0).then(|| (used.saturating_mul(100) / window).min(100) as u8)
    }

    /// The sum of both. The context window is that of `self`.
    #[must_use]
    pub fn plus(&self, other: &Usage) -> Usage {
        self.with(other, |a, b| a.saturating_add(b))
    }

    /// The larger value of both, field by field: an agent that starts again may count from nothing.
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

    /// The difference between `before` and now; both are totals of one session.
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
