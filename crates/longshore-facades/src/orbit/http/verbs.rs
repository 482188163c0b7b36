//! A few verbs of the program, for people who have only the web app at hand. The hub answers them itself: nothing is started.

use std::fmt::Write;
use std::time::Duration;

use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use longshore_model::device::DeviceMode;
use longshore_session::SessionFilter;
use serde_json::json;

use super::wire::{ById, ListedVerb};
use super::{body, failed, providers, status};
use crate::auth::Access;
use crate::gate::Gate;
use crate::pair;
use crate::problem::Problem;

/// How long a verb may take.
const WITHIN: Duration = Duration::from_secs(90);
/// The longest output, in bytes.
const OUTPUT: usize = 20_000;
/// How many sessions are listed, and how many days of usage.
const SESSIONS: usize = 20;
const DAYS: u32 = 7;

/// A verb that the page may run.
struct HubVerb {
    listed: ListedVerb,
    run: fn(Gate) -> VerbOutput,
}

type VerbOutput = futures_util::future::BoxFuture<'static, Result<String, Problem>>;

fn verbs() -> Vec<HubVerb> {
    let verb = |id, label, args, description, run| HubVerb {
        listed: ListedVerb { id, label, args, description },
        run,
    };
    vec![
        verb("status", "Status", vec!["status"], "The hub, its version and its log", |gate| {
            Box::pin(hub(gate))
        }),
        verb("doctor", "Doctor", vec!["doctor"], "Check the hub; says what is wrong", |gate| {
            Box::pin(doctor(gate))
        }),
        verb("agents", "Agents", vec!["agents"], "The known agents, installed or not", |gate| {
            Box::pin(agents(gate))
        }),
        verb("ls", "Sessions", vec!["ls"], "The sessions that changed last", |gate| Box::pin(sessions(gate))),
        verb("inbox", "Inbox", vec!["inbox"], "What waits for a person", |gate| Box::pin(inbox(gate))),
        verb("devices", "Devices", vec!["devices"], "The paired devices", |gate| Box::pin(devices(gate))),
        verb("usage", "Usage", vec!["usage"], "Tokens and cost of the last week", |gate| {
            Box::pin(usage(gate))
        }),
        verb("pair", "Pair", vec!["pair"], "Make a link that pairs one device", |gate| Box::pin(pair(gate))),
    ]
}

pub(super) async fn list() -> Json<serde_json::Value> {
    let listed: Vec<_> = verbs().into_iter().map(|verb| verb.listed).collect();
    Json(json!({ "commands": listed }))
}

pub(super) async fn run(gate: Gate, request: Request) -> Result<Response, Problem> {
    let ById { id } = body(request).await?;
    gate.check(Access::Act)?;
    let Some(verb) = verbs().into_iter().find(|verb| verb.listed.id == id) else {
        return Ok((StatusCode::BAD_REQUEST, Json(failed("unknown command"))).into_response());
    };
    let command = format!("longshore {}", verb.listed.args.join(" "));
    gate.app().diary.note(format!("{} ran `{command}`", gate.caller().name()), gate.now());
    Ok(match tokio::time::timeout(WITHIN, (verb.run)(gate)).await {
        Ok(Ok(mut output)) => {
            let end = (0..=output.len().min(OUTPUT)).rev().find(|end| output.is_char_boundary(*end));
            output.truncate(end.unwrap_or(0));
            let done =
                json!({ "ok": true, "exitCode": 0, "timedOut": false, "output": output, "command": command });
            Json(done).into_response()
        }
        Ok(Err(problem)) => not_done(&command, &problem.title, false),
        Err(_) => not_done(&command, "the hub took too long", true),
    })
}

fn not_done(command: &str, why: &str, timed_out: bool) -> Response {
    let mut done = failed(why);
    done["exitCode"] = if timed_out { serde_json::Value::Null } else { 1.into() };
    done["timedOut"] = timed_out.into();
    done["output"] = why.into();
    done["command"] = command.into();
    (StatusCode::INTERNAL_SERVER_ERROR, Json(done)).into_response()
}

async fn hub(gate: Gate) -> Result<String, Problem> {
    let stats = gate.stats().await?;
    Ok(format!(
        "Longshore {} at {}\nsince {}\n{} sessions, {} of them in memory; {} events; {} bytes on disk\n",
        crate::router::VERSION,
        gate.base(),
        gate.app().diary.started,
        stats.sessions,
        gate.awake_sessions(),
        stats.events,
        stats.file_bytes + stats.wal_bytes,
    ))
}

async fn doctor(gate: Gate) -> Result<String, Problem> {
    let mut lines = String::new();
    for check in status::checks(&gate).await {
        let mark = if check.ok { "ok " } else { "BAD" };
        row(&mut lines, &[mark, check.id, &check.summary]);
    }
    Ok(lines)
}

async fn agents(gate: Gate) -> Result<String, Problem> {
    let mut lines = String::new();
    for agent in providers::agents(&gate).await.unwrap_or_default() {
        let version = agent.version.as_deref().unwrap_or("-");
        let place = agent.path.clone().unwrap_or_else(|| format!("not installed: {}", agent.install));
        row(&mut lines, &[&agent.name, version, &place]);
    }
    Ok(or_nothing(lines, "no agent is known"))
}

async fn sessions(gate: Gate) -> Result<String, Problem> {
    let page = gate.sessions(SessionFilter { limit: SESSIONS, ..SessionFilter::default() }).await?;
    let mut lines = String::new();
    for session in page.sessions {
        let status = json!(session.status);
        let (id, status) = (session.session_id.to_string(), status.as_str().unwrap_or_default());
        row(&mut lines, &[&id, &session.provider, status, &session.title]);
    }
    Ok(or_nothing(lines, "there are no sessions"))
}

async fn inbox(gate: Gate) -> Result<String, Problem> {
    let inbox = gate.inbox().await?;
    let mut lines = String::new();
    for waiting in &inbox.approvals {
        let reason = waiting.reason.as_deref().unwrap_or("-");
        row(&mut lines, &["approval", &waiting.session.to_string(), reason]);
    }
    for waiting in &inbox.questions {
        let text = waiting.text.as_deref().unwrap_or("-");
        row(&mut lines, &["question", &waiting.session.to_string(), text]);
    }
    Ok(or_nothing(lines, "nothing waits for you"))
}

async fn devices(gate: Gate) -> Result<String, Problem> {
    let mut lines = String::new();
    for device in gate.app().keys.devices() {
        let state = device.revoked_at.map_or_else(|| device.mode.to_string(), |at| format!("revoked {at}"));
        row(&mut lines, &[&device.id.to_string(), &state, &device.label]);
    }
    Ok(or_nothing(lines, "no device is paired"))
}

async fn usage(gate: Gate) -> Result<String, Problem> {
    let mut lines = String::new();
    for used in gate.usage(DAYS).await? {
        let (tokens, cost) = ((used.input + used.output).to_string(), format!("${:.4}", used.cost));
        row(&mut lines, &[&used.day, &used.agent, &tokens, &cost]);
    }
    Ok(or_nothing(lines, "nothing was used within a week"))
}

async fn pair(gate: Gate) -> Result<String, Problem> {
    gate.check(Access::Act)?;
    let made = pair::new_code(&gate, DeviceMode::Full, None)?;
    Ok(format!("{}\ncode {}, for one device, until {}\n", made.pair_url, made.code, made.expires_at))
}

/// One line; a cell with several lines would be taken for several rows.
fn row(lines: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace(['\n', '\r', '\t'], " ")).collect();
    // Writing to a text does not fail.
    let _ = writeln!(lines, "{}", cells.join("\t"));
}

fn or_nothing(lines: String, nothing: &str) -> String {
    if lines.is_empty() { format!("{nothing}\n") } else { lines }
}
