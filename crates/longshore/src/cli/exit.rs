//! Exit codes, and how an error is told.

use std::process::ExitCode;

use serde_json::json;

use crate::client::{Refused, Unreachable};

/// The codes, for `--help`.
pub(super) const CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 not allowed, 5 conflict, \
6 no hub, 130 interrupted.";

pub(super) const INTERRUPTED: u8 = 130;

/// What a verb could not find.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotFound(pub(super) String);

/// Says what went wrong and what to do about it, and picks the code.
pub(super) fn report(error: &anyhow::Error, as_json: bool) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let (code, hint) = advice(error);
    if as_json {
        let stable = error.downcast_ref::<Refused>().map_or("failed", |refused| refused.code.as_str());
        eprintln!(
            "{}",
            json!({ "error": { "code": stable, "message": format!("{error:#}"), "hint": hint } })
        );
    } else {
        eprintln!("error: {error:#}");
        if let Some(hint) = hint {
            eprintln!("hint: {hint}");
        }
    }
    ExitCode::from(code)
}

fn advice(error: &anyhow::Error) -> (u8, Option<String>) {
    if let Some(refused) = error.downcast_ref::<Refused>() {
        let code = match refused.code.as_str() {
            "unknown_session"
            | "unknown_ask"
            | "unknown_prompt"
            | "unknown_agent"
            | "agent_not_installed" => 3,
            "no_token" | "wrong_token" | "foreign_host" | "foreign_origin" | "too_many_attempts" => 4,
            "already_decided" | "already_answered" | "ask_expired" | "session_closed" | "no_turn"
            | "queue_full" | "cannot_fork" | "busy" => 5,
            _ => 1,
        };
        return (code, refused.hint.clone());
    }
    if error.downcast_ref::<Unreachable>().is_some() {
        return (6, Some("start it with `longshore up`".to_owned()));
    }
    if error.downcast_ref::<NotFound>().is_some() {
        return (3, Some("`longshore ls` lists the sessions".to_owned()));
    }
    (1, None)
}

/// A reader that has seen enough is no fault.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
