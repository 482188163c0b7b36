//! Usage, summed by day, agent and project: the same for every backend.

use std::collections::{BTreeMap, HashSet};

use longshore_model::id::TurnId;
use longshore_model::lifecycle::TurnEnd;
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;

/// Sums the ends of turns, in the order of time. A fork repeats the turns of its origin; they count once.
#[derive(Debug, Default)]
pub struct UsageSum {
    days: BTreeMap<(String, String, Option<String>), DayUsage>,
    counted: HashSet<TurnId>,
}

impl UsageSum {
    /// Adds the end of a turn.
    pub fn add(&mut self, turn: TurnId, at: Timestamp, agent: &str, project: Option<&str>, end: &TurnEnd) {
        if !self.counted.insert(turn) {
            return;
        }
        // An RFC 3339 moment in UTC begins with its day.
        let day: String = at.to_string().chars().take(10).collect();
        let project = project.map(str::to_owned);
        let sum = self.days.entry((day, agent.to_owned(), project)).or_default();
        let usage = end.usage.unwrap_or_default();
        sum.input += usage.input.unwrap_or(0);
        sum.output += usage.output.unwrap_or(0);
        sum.cached += usage.cached_input.unwrap_or(0);
        sum.cost += end.cost_usd.unwrap_or(0.0);
        sum.turns += 1;
    }

    /// The days, the earliest first.
    pub fn days(self) -> Vec<DayUsage> {
        let named = |((day, agent, project), sum)| DayUsage { day, agent, project, ..sum };
        self.days.into_iter().map(named).collect()
    }
}
