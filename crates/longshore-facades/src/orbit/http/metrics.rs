//! What was used, by agent and by day.

use std::collections::{BTreeMap, HashMap};

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use longshore_model::time::Timestamp;
use longshore_session::SessionFilter;
use serde_json::{Value, json};

use super::wire::{OfDay, OfProvider, Range, Totals};
use crate::gate::Gate;
use crate::problem::Problem;

/// All days that there were.
const ALL: u32 = 36_500;
/// The most sessions that are counted, and how many of them are read at once.
const SESSIONS: usize = 10_000;
const PAGE: usize = 500;

pub(super) async fn metrics(
    gate: Gate,
    query: Result<Query<Range>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let range = query?.0.range.unwrap_or_else(|| "7d".to_owned());
    let days = match range.as_str() {
        "24h" => 1,
        "7d" => 7,
        "30d" => 30,
        "all" => ALL,
        other => {
            return Err(Problem::invalid(format!(
                "`{}` is no range; 24h, 7d, 30d and all are",
                super::plain(other)
            )));
        }
    };
    let mut by_provider: BTreeMap<String, Totals> = BTreeMap::new();
    let mut daily: BTreeMap<(String, String), u64> = BTreeMap::new();
    for used in gate.usage(days).await? {
        let tokens = used.input + used.output;
        let totals = by_provider.entry(used.agent.clone()).or_default();
        totals.tokens += tokens;
        totals.cost += used.cost;
        *daily.entry((used.day, used.agent)).or_default() += tokens;
    }
    let since = gate.now().plus_millis(-i64::from(days) * 24 * 3_600_000);
    for (agent, threads) in threads_since(&gate, since).await? {
        by_provider.entry(agent).or_default().threads = threads;
    }
    let totals = Totals {
        tokens: by_provider.values().map(|totals| totals.tokens).sum(),
        cost: by_provider.values().map(|totals| totals.cost).sum(),
        threads: by_provider.values().map(|totals| totals.threads).sum(),
    };
    let by_provider: Vec<_> =
        by_provider.into_iter().map(|(provider, totals)| OfProvider { provider, totals }).collect();
    let daily: Vec<_> =
        daily.into_iter().map(|((day, provider), tokens)| OfDay { day, provider, tokens }).collect();
    Ok(Json(json!({
        "range": range, "provider": null, "totals": totals, "byProvider": by_provider, "dailyUsage": daily,
    })))
}

/// How many sessions of each agent changed since then.
async fn threads_since(gate: &Gate, since: Timestamp) -> Result<HashMap<String, u64>, Problem> {
    let mut threads = HashMap::new();
    let mut filter = SessionFilter { limit: PAGE, ..SessionFilter::default() };
    for _ in 0..SESSIONS / PAGE {
        let page = gate.sessions(filter.clone()).await?;
        for session in page.sessions.iter().filter(|session| session.updated_at >= since) {
            *threads.entry(session.provider.to_string()).or_default() += 1;
        }
        if page.next.is_none() {
            break;
        }
        filter.cursor = page.next;
    }
    Ok(threads)
}
