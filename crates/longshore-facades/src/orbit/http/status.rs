//! The state of the hub, for a page that is drawn every few seconds; checks and repairs.
//!
//! An anchor is part of the hub here: it runs as long as the hub does. So there is nothing to start, and it cannot be stopped
//! alone.

use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use longshore_model::capability::AgentInfo;
use serde_json::{Map, Value, json};

use super::providers::{agents, provider_of};
use super::wire::{Check, Repair};
use super::{body, failed};
use crate::auth::Access;
use crate::gate::Gate;
use crate::guard::host_of;
use crate::kernel::diary::Incident;
use crate::problem::Problem;
use crate::router::VERSION;

/// Where the log is when it is not in a file.
const IN_MEMORY: &str = "(in memory)";
/// The most actions of one repair.
const ACTIONS: usize = 16;

pub(super) async fn status(gate: Gate) -> Json<Value> {
    let app = gate.app();
    let agents = agents(&gate).await;
    let devices = app.keys.devices();
    let active = devices.iter().filter(|device| device.revoked_at.is_none()).count();
    let (host, port) = address(&gate);
    let (storage, uploads) = (&app.storage, &app.uploads);
    let data = storage.data.as_ref().map_or(IN_MEMORY.to_owned(), |data| data.display().to_string());
    let retention = uploads.retention();
    Json(json!({
        "tokenSessions": { "total": devices.len(), "active": active },
        "server": { "host": host, "port": port },
        "uiDistDir": ui_of(&gate),
        "anchor": { "running": agents.is_some(), "cwd": data, "host": host, "port": port, "log": "(see Logs)" },
        "anchorAuth": logins(agents.as_deref().unwrap_or_default()),
        "db": {
            "path": data,
            "retentionDays": storage.retention_days,
            "uploadDir": uploads.folder().display().to_string(),
            "uploadRetentionDays": retention.days,
            "uploadPruneIntervalHours": retention.every_hours,
        },
        "reliability": reliability(&gate, agents.is_some()),
        "version": { "appCommit": VERSION },
        "providers": agents.unwrap_or_default().iter().map(health).collect::<Map<_, _>>(),
    }))
}

/// Host and port, as the caller addresses the hub.
fn address(gate: &Gate) -> (String, u16) {
    let base = gate.base();
    let usual = if base.starts_with("https://") { 443 } else { 80 };
    let host = host_of(base);
    match host.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse().ok()?))) {
        Some((name, port)) => (name.to_owned(), port),
        None => (host.to_owned(), usual),
    }
}

fn ui_of(gate: &Gate) -> String {
    match &gate.app().web_dir {
        Some(folder) => folder.path().display().to_string(),
        None => "(part of the program)".to_owned(),
    }
}

/// Whether the agents are logged in. The app has one place for that: it warns when none is.
fn logins(agents: &[AgentInfo]) -> Value {
    let here = || agents.iter().filter(|agent| agent.path.is_some());
    let out: Vec<&AgentInfo> = here().filter(|agent| agent.logged_in == Some(false)).collect();
    match (here().any(|agent| agent.logged_in == Some(true)), out.first()) {
        (true, _) => json!({ "status": "ok" }),
        (false, Some(first)) if out.len() == here().count() => {
            let login = first.login.as_deref().map(|login| format!("; run `{login}`")).unwrap_or_default();
            let message = format!("{} is not logged in{login}", first.title);
            json!({ "status": "invalid", "code": "not_logged_in", "message": message })
        }
        (false, Some(_) | None) => json!({ "status": "unknown" }),
    }
}

fn health(agent: &AgentInfo) -> (String, Value) {
    let (status, message) = match (&agent.path, agent.logged_in) {
        (None, _) => ("disabled", Some(format!("not installed; {}", agent.install))),
        (Some(_), Some(false)) => {
            ("degraded", agent.login.as_ref().map(|login| format!("not logged in; run `{login}`")))
        }
        (Some(_), Some(true) | None) => ("healthy", agent.remark.clone()),
    };
    let mut health = json!({ "status": status });
    if let Some(message) = message {
        health["message"] = message.into();
    }
    (provider_of(&agent.name).to_owned(), health)
}

fn reliability(gate: &Gate, has_anchor: bool) -> Value {
    let diary = &gate.app().diary;
    let kind = |incident| match incident {
        Incident::Connected => "wsClientConnected",
        Incident::Disconnected => "wsClientDisconnected",
        Incident::Denied => "readOnlyDenied",
        Incident::Limited => "rateLimited",
    };
    let mut counters = json!({
        "wsAnchorConnected": u8::from(has_anchor), "wsAnchorDisconnected": 0, "anchorAuthInvalid": 0,
        "duplicateDropped": 0, "anchorStartFailed": 0, "anchorStopFailed": 0,
    });
    for incident in Incident::ALL {
        counters[kind(incident)] = diary.counted(incident).into();
    }
    let recent = diary.incidents().into_iter().map(|entry| {
        let (incident, detail) = entry.what;
        json!({ "ts": entry.at, "kind": kind(incident), "detail": detail })
    });
    json!({ "startedAt": diary.started, "counters": counters, "recent": recent.collect::<Vec<_>>() })
}

pub(super) async fn validate(gate: Gate) -> Json<Value> {
    let checks = checks(&gate).await;
    Json(json!({ "ok": checks.iter().all(|check| check.ok), "checks": checks }))
}

/// Everything that can be looked at without changing anything.
pub(super) async fn checks(gate: &Gate) -> Vec<Check> {
    let app = gate.app();
    let check = |id, ok, summary: String| Check { id, ok, summary, detail: None };
    let mut checks = vec![check("server", true, format!("Longshore {VERSION} answers at {}", gate.base()))];
    let has_page = match &app.web_dir {
        Some(folder) => folder.has_page().await,
        None => !app.web.is_empty(),
    };
    let page = if has_page { "is there" } else { "has no index.html; build it" };
    checks.push(check("ui", has_page, format!("the web app {page}: {}", ui_of(gate))));
    checks.push(match gate.stats().await {
        Ok(stats) => {
            let size = stats.file_bytes + stats.wal_bytes;
            check("db", true, format!("{} sessions, {} events, {size} bytes", stats.sessions, stats.events))
        }
        Err(error) => check("db", false, format!("the log does not answer: {error}")),
    });
    let found = agents(gate).await;
    let here = found.iter().flatten().filter(|agent| agent.path.is_some());
    let names: Vec<&str> = here.map(|agent| agent.title.as_str()).collect();
    checks.push(match (&found, names.is_empty()) {
        (None, _) => check("anchor", false, "the anchor does not answer; restart the hub".to_owned()),
        (Some(_), true) => {
            check("anchor", false, "no agent is installed; `longshore agents` says how".to_owned())
        }
        (Some(_), false) => check("anchor", true, format!("installed: {}", names.join(", "))),
    });
    let folder = app.uploads.folder();
    let state = tokio::fs::metadata(folder).await;
    let (is_fine, state) = match state {
        Ok(found) if found.is_dir() => (true, "is there"),
        Ok(_) => (false, "is no folder; move it away"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (true, "comes with the first file"),
        Err(_) => (false, "cannot be read"),
    };
    checks.push(Check {
        detail: Some(folder.display().to_string()),
        ..check("uploads", is_fine, format!("the folder {state}"))
    });
    checks
}

pub(super) async fn repair(gate: Gate, request: Request) -> Result<Json<Value>, Problem> {
    let Repair { actions } = body(request).await?;
    gate.check(Access::Act)?;
    let (mut applied, mut skipped, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for action in actions.into_iter().take(ACTIONS) {
        match action.as_str() {
            "ensureUploadDir" => match gate.app().uploads.ensure_folder().await {
                Ok(()) => applied.push(action),
                Err(error) => errors.push(format!("{action}: {error}")),
            },
            "pruneUploads" => {
                gate.app().uploads.prune(gate.now(), true).await;
                applied.push(action);
            }
            "startAnchor" => skipped.push(format!("{action}: the anchor runs with the hub")),
            "fixTailscaleServe" => skipped.push(format!("{action}: the hub does not manage Tailscale")),
            other => errors.push(format!("{}: there is no such repair", super::plain(other))),
        }
    }
    gate.app().diary.note(format!("{} repaired: {}", gate.caller().name(), applied.join(", ")), gate.now());
    let checks = checks(&gate).await;
    let ok = errors.is_empty() && checks.iter().all(|check| check.ok);
    Ok(Json(json!({ "ok": ok, "applied": applied, "skipped": skipped, "errors": errors, "checks": checks })))
}

pub(super) async fn start_anchor(gate: Gate) -> Result<(StatusCode, Json<Value>), Problem> {
    gate.check(Access::Act)?;
    Ok(match agents(&gate).await {
        Some(_) => (StatusCode::OK, Json(json!({ "ok": true }))),
        None => {
            let error = "the anchor does not answer, and it cannot be started alone; restart the hub";
            (StatusCode::INTERNAL_SERVER_ERROR, Json(failed(error)))
        }
    })
}

pub(super) async fn stop_anchor(gate: Gate) -> Result<(StatusCode, Json<Value>), Problem> {
    gate.check(Access::Act)?;
    let error = "the anchor is part of the hub; to stop both, run `longshore down` on that machine";
    Ok((StatusCode::INTERNAL_SERVER_ERROR, Json(failed(error))))
}
