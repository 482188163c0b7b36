//! Exit codes, and the printing of errors.

use std::process::ExitCode;

use serde_json::json;

use super::connect;
use super::terminal::{Plain, note};
use crate::client::{NotOurHub, Refused, Unreachable};
use crate::dial::Untrusted;
use crate::render::clean::clean;

/// The codes, for `--help`.
pub(super) const CODES: &str = "\
Start with: longshore demo, then longshore run codex \"what is in this folder?\"

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 not allowed, 5 conflict,
            6 no hub, 130 interrupted; `wait` only: 7 needs you, 124 the time is up";

const CONFLICT: u8 = 5;
/// Of `wait`: the session needs somebody.
pub(super) const NEEDS_YOU: u8 = 7;
/// Of `wait`: it took too long, as `timeout` says it.
pub(super) const TIME_IS_UP: u8 = 124;
pub(super) const INTERRUPTED: u8 = 130;

/// A fault that the program itself found: what, what to do about it, and the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(super) struct Fault {
    what: String,
    hint: String,
    code: u8,
}

impl Fault {
    pub(super) fn usage(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into(), code: 2 }
    }

    pub(super) fn not_found(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into(), code: 3 }
    }

    pub(super) fn conflict(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into(), code: CONFLICT }
    }

    /// With the code that another process of this program ended with.
    pub(super) fn coded(what: impl Into<String>, hint: impl Into<String>, code: u8) -> Self {
        Self { what: what.into(), hint: hint.into(), code }
    }

    pub(super) fn no_hub(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into(), code: 6 }
    }
}

/// Says what went wrong and what to do about it, and picks the code.
pub(super) fn report(error: &anyhow::Error, as_json: bool) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let (code, hint) = advice(error);
    let message = told(error);
    if as_json {
        let stable = error.downcast_ref::<Refused>().map_or(word(code), |refused| refused.code.as_str());
        let told = json!({ "error": { "code": stable, "message": message, "hint": hint } });
        eprintln!("{}", Plain(told));
    } else {
        // It may quote what somebody else wrote: an argument, a title, a file.
        note(format_args!("error: {}", clean(&message)));
        // Some errors say what to do themselves.
        if let Some(hint) = hint.filter(|hint| !message.contains(hint.as_str())) {
            note(format_args!("hint: {}", clean(&hint)));
        }
    }
    ExitCode::from(code)
}

/// What an exit code means in a word, for faults that have no code of the hub.
fn word(code: u8) -> &'static str {
    match code {
        2 => "usage",
        3 => "not_found",
        4 => "not_allowed",
        CONFLICT => "conflict",
        6 => "no_hub",
        _ => "failed",
    }
}

/// The error and its causes. Some errors quote their cause themselves; it is not said twice.
pub(super) fn told(error: &anyhow::Error) -> String {
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

/// The exit code of an error, and what to do about it.
pub(super) fn advice(error: &anyhow::Error) -> (u8, Option<String>) {
    if let Some(refused) = error.downcast_ref::<Refused>() {
        let code = match refused.code.as_str() {
            "unknown_session"
            | "unknown_ask"
            | "unknown_prompt"
            | "unknown_agent"
            | "agent_not_installed"
            | "unknown_device" => 3,
            "unknown_effort" => 2,
            "no_token" | "wrong_token" | "revoked_token" | "not_allowed" | "foreign_host"
            | "foreign_origin" | "too_many_attempts" => 4,
            "already_decided" | "already_answered" | "ask_expired" | "session_closed" | "no_turn"
            | "queue_full" | "cannot_fork" | "token_fixed" | "busy" | "busy_turn" | "not_interrupted"
            | "session_exists" => CONFLICT,
            _ => 1,
        };
        return (code, refused.hint.clone());
    }
    if error.downcast_ref::<Unreachable>().is_some() {
        return (6, Some(unreachable_hint(connect::named_url().as_deref())));
    }
    if let Some(other) = error.downcast_ref::<NotOurHub>() {
        let hint = match other {
            NotOurHub::Another { .. } => {
                "set `LONGSHORE_HOME` or `LONGSHORE_DATA_DIR` to the folder of that hub, or give your hub another port with `--bind`"
            }
            NotOurHub::Stranger { .. } => {
                "another program uses the hub's port; end that program, or choose another port with `longshore up --bind`"
            }
        };
        return (6, Some(hint.to_owned()));
    }
    if let Some(untrusted) = error.downcast_ref::<Untrusted>() {
        let hint = "a hub with `--tls` has its own authority: copy `ca.pem` from its data folder, and name the copy with \
                    `LONGSHORE_CA`";
        return (6, untrusted.is_of_unknown_authority().then(|| hint.to_owned()));
    }
    if let Some(fault) = error.downcast_ref::<Fault>() {
        return (fault.code, Some(fault.hint.clone()));
    }
    (1, None)
}

/// What to do when no hub answers: one that was named is somebody else's to start.
fn unreachable_hint(named: Option<&str>) -> String {
    match named {
        Some(url) => format!(
            "LONGSHORE_URL names this hub ({url}): check the address, and check that the hub there runs; without \
             LONGSHORE_URL the verb uses the hub of this machine"
        ),
        None => "start the hub with `longshore up --detach`".to_owned(),
    }
}

/// A reader that has seen enough is no fault.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_is_quoted_already_is_not_said_twice() {
        let quoted = anyhow::anyhow!("no such file").context("cannot read x: no such file");
        assert_eq!(told(&quoted), "cannot read x: no such file");
        let plain = anyhow::anyhow!("no such file").context("cannot read x");
        assert_eq!(told(&plain), "cannot read x: no such file");
    }

    #[test]
    fn a_hub_that_was_named_is_not_started_by_the_hint() {
        let hint = unreachable_hint(Some("http://127.0.0.1:1"));
        assert!(hint.contains("LONGSHORE_URL") && !hint.contains("longshore up"), "{hint}");
        assert!(unreachable_hint(None).contains("longshore up"));
    }

    #[test]
    fn a_fault_brings_its_own_hint_and_code() {
        let error = Fault::not_found("there is no session yet", "open one").into();
        assert_eq!(advice(&error), (3, Some("open one".to_owned())));
    }
}
