//! The last line of a turn: how it ended, and what it used.

use longshore_model::lifecycle::{TurnEnd, TurnErrorCode, TurnOutcome};
use longshore_model::usage::Usage;

use super::clean::clean;
use super::diff::Counts;
use super::human::{cost, count, duration, plural};
use super::line::InkLine;
use super::style::{Style, ink};
use super::wrap::{behind, flow, text_behind};

/// What the renderer knows of a turn beside its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TurnFacts {
    /// How long it took by the clock of the events.
    pub(super) took: Option<u64>,
    /// How full the context is, as last heard.
    pub(super) context: Option<u8>,
    /// What it changed.
    pub(super) changed: Option<Counts>,
}

/// Unknown parts are left out.
pub(super) fn lines(end: &TurnEnd, text: &str, told: TurnFacts, style: &Style) -> Vec<InkLine> {
    let signs = style.signs();
    let (sign, ink, word) = match end.outcome {
        TurnOutcome::Completed => (signs.done, ink::GOOD, "done in"),
        TurnOutcome::Failed => (signs.failed, ink::BAD, "failed after"),
        TurnOutcome::Interrupted => (signs.stopped, ink::WARN, "interrupted after"),
    };
    let head = match end.duration_ms.or(told.took) {
        Some(millis) => format!("{word} {}", duration(millis)),
        None => word.split(' ').next().unwrap_or(word).to_owned(),
    };
    let mut facts = vec![InkLine::of(&head, ink)];
    facts.extend(parts(end, told).iter().map(|part| InkLine::of(part, ink::DIM)));
    let dot = InkLine::of(&format!(" {} ", signs.dot), ink::DIM);
    let first = InkLine::of(sign, ink).with(" ", ink::PLAIN);
    let rest = InkLine::of("  ", ink::PLAIN);
    let mut lines = behind(flow(facts, &dot, style.columns().saturating_sub(2)), &first, &rest);
    if end.outcome == TurnOutcome::Failed {
        let said = end.error.as_ref().map_or(text, |error| &error.message);
        lines.extend(text_behind(&clean(said), ink::BAD, style.columns(), &rest, &rest));
        let hint = end.error.as_ref().and_then(|error| hint(error.code)).unwrap_or_default();
        lines.extend(text_behind(hint, ink::DIM, style.columns(), &rest, &rest));
    }
    lines
}

fn parts(end: &TurnEnd, told: TurnFacts) -> Vec<String> {
    let usage = end.usage.unwrap_or_default();
    let mut parts = Vec::new();
    if let Some(changed) = told.changed.filter(|changed| changed.added + changed.removed > 0) {
        parts.push(format!("{} +{} -{}", plural(changed.files, "file"), changed.added, changed.removed));
    }
    parts.extend(tokens(&usage));
    if let Some(percent) = usage.context_percent().or(told.context) {
        parts.push(format!("context {percent}%"));
    }
    parts.extend(end.cost_usd.map(cost));
    parts
}

/// `1.2k in (40 cached)`, `20 out`.
pub(super) fn tokens(usage: &Usage) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(input) = usage.input {
        let cached = usage.cached_input.filter(|cached| *cached > 0);
        let cached = cached.map(|cached| format!(" ({} cached)", count(cached))).unwrap_or_default();
        parts.push(format!("{} in{cached}", count(input)));
    }
    if let Some(output) = usage.output {
        parts.push(format!("{} out", count(output)));
    }
    parts
}

/// What to do about it.
fn hint(code: TurnErrorCode) -> Option<&'static str> {
    match code {
        TurnErrorCode::UsageLimit => Some("Usage limit reached: wait until it resets."),
        TurnErrorCode::RateLimited => Some(
            "Rate limited by the model provider: try again in a while; the session remembers everything.",
        ),
        TurnErrorCode::Overloaded => {
            Some("The model provider is overloaded: try again in a while; the session remembers everything.")
        }
        TurnErrorCode::ContextWindow => Some("Context window is full: open a new session."),
        TurnErrorCode::Unauthorized => {
            Some("Log in to the agent and try again; `longshore doctor` says how.")
        }
        TurnErrorCode::Network => Some("The model's service cannot be reached; check the network."),
        TurnErrorCode::AgentUnavailable => Some("`longshore doctor` says what is missing."),
        TurnErrorCode::AgentGone => Some("The next prompt wakes the agent again."),
        TurnErrorCode::HubRestarted => Some("`longshore resume` has the agent go on."),
        TurnErrorCode::Timeout | TurnErrorCode::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use longshore_model::lifecycle::TurnError;

    use super::*;
    use crate::render::line::print;

    fn shown(end: &TurnEnd, told: TurnFacts) -> String {
        let style = Style::default();
        print(&lines(end, "", told, &style), &style)
    }

    #[test]
    fn a_turn_ends_with_what_it_took() {
        let usage = Usage {
            input: Some(1_234),
            cached_input: Some(40),
            output: Some(20),
            reasoning: None,
            context_window: Some(1_000),
            context_used: Some(120),
        };
        let end = TurnEnd {
            outcome: TurnOutcome::Completed,
            error: None,
            usage: Some(usage),
            cost_usd: Some(0.031),
            duration_ms: Some(12_300),
        };
        assert_eq!(
            shown(&end, TurnFacts::default()),
            "✓ done in 12.3s · 1.2k in (40 cached) · 20 out · context 12% · $0.03\n"
        );
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        assert_eq!(shown(&TurnEnd::of(TurnOutcome::Completed), TurnFacts::default()), "✓ done\n");
        let told = TurnFacts {
            took: Some(900),
            context: Some(3),
            changed: Some(Counts { files: 2, added: 12, removed: 4 }),
        };
        assert_eq!(
            shown(&TurnEnd::of(TurnOutcome::Interrupted), told),
            "■ interrupted after 0.9s · 2 files +12 -4 · context 3%\n"
        );
    }

    #[test]
    fn a_failure_says_what_to_do() {
        let error = TurnError {
            code: TurnErrorCode::Unauthorized,
            message: "401 \u{1b}[31mUnauthorized".to_owned(),
            details: serde_json::Value::Null,
        };
        let end = TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) };
        assert_eq!(
            shown(&end, TurnFacts { took: Some(3_000), ..TurnFacts::default() }),
            "✗ failed after 3.0s\n  401 Unauthorized\n  Log in to the agent and try again; `longshore doctor` says how.\n"
        );
    }
}
