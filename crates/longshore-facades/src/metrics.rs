//! Metrics for Prometheus.

use axum::http::header;
use axum::response::IntoResponse;

use crate::gate::Gate;
use crate::problem::Problem;

/// `GET /metrics`.
pub async fn metrics(gate: Gate) -> Result<impl IntoResponse, Problem> {
    let stats = gate.stats().await?;
    let counters = gate.counters();
    let rows = [
        ("longshore_events_recorded_total", "counter", "Events recorded since the start", counters.events()),
        ("longshore_commits_total", "counter", "Commits that they took", counters.commits()),
        ("longshore_sessions_awake", "gauge", "Sessions held in memory", gate.awake_sessions() as u64),
        (
            "longshore_outgoing_bytes",
            "gauge",
            "Bytes of large answers on their way to clients",
            gate.outgoing_bytes(),
        ),
        ("longshore_log_sessions", "gauge", "Sessions in the log", stats.sessions),
        ("longshore_log_events", "gauge", "Events in the log", stats.events),
        ("longshore_log_bytes", "gauge", "Bytes on disk", stats.file_bytes + stats.wal_bytes),
    ];
    let text: String = rows
        .into_iter()
        .map(|(name, kind, help, value)| {
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n")
        })
        .collect();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text))
}
