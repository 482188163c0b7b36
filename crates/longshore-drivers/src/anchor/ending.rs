//! Why an agent is gone, in data and in words.

use std::os::unix::process::ExitStatusExt;

use longshore_model::lifecycle::{Sleep, SleepCause};
use rustix::process::Signal;

use crate::transport::Ended;

/// How much of stderr a reason quotes.
const QUOTED: usize = 500;

/// Why we stop a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The session asked for it.
    Asked,
    /// The hub goes down.
    Shutdown,
    /// Its driver gave up on it.
    Finished(String),
    /// Its driver panicked.
    Panicked(String),
    /// It does not read what it is told.
    Stuck,
    /// Its sessions told it more than it could be told.
    Overrun,
    /// It closed a pipe.
    HungUp,
    /// It is a server that is not there any more, or its program has no line to us.
    Lost(String),
    /// It hosts many sessions, and the last one is gone.
    Idle,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ending {
    pub(crate) sleep: Sleep,
    pub(crate) reason: String,
}

impl Ending {
    /// It never ran.
    pub(crate) fn not_started(reason: String) -> Self {
        Self { sleep: Sleep { cause: SleepCause::FailedToStart, ..Sleep::default() }, reason }
    }

    /// Nothing runs for this session.
    pub(crate) fn not_running() -> Self {
        let sleep = Sleep { cause: SleepCause::Exited, ..Sleep::default() };
        Self { sleep, reason: "no agent runs for this session".to_owned() }
    }

    /// The session was let go by the process that hosted it, among others or as a child.
    pub(crate) fn let_go(was_opened: bool) -> Self {
        let sleep = Sleep { cause: SleepCause::Stopped, ..Sleep::default() };
        let reason = match was_opened {
            true => "stopped; the agent's process may go on for other sessions",
            false => "stopped; the agent's process goes on for the session that it was started for",
        };
        Self { sleep, reason: reason.to_owned() }
    }

    /// The driver gave up on this session alone.
    pub(crate) fn given_up(reason: String, began: bool) -> Self {
        let cause = if began { SleepCause::Exited } else { SleepCause::FailedToStart };
        Self { sleep: Sleep { cause, ..Sleep::default() }, reason }
    }

    /// It was stopped before it ran.
    pub(crate) fn stopped_before_start(cause: &Cause) -> Self {
        let (cause, reason) = match cause {
            Cause::Shutdown => (SleepCause::HubRestarted, SHUTDOWN),
            Cause::Asked
            | Cause::Finished(_)
            | Cause::Panicked(_)
            | Cause::Stuck
            | Cause::Overrun
            | Cause::HungUp
            | Cause::Lost(_)
            | Cause::Idle => (SleepCause::Stopped, "stopped before it started"),
        };
        Self { sleep: Sleep { cause, ..Sleep::default() }, reason: reason.to_owned() }
    }

    /// It ran and ended. `began` says whether it ever listened.
    pub(crate) fn of(title: &str, ended: Ended, cause: Option<Cause>, began: bool) -> Self {
        let by_itself = if began { SleepCause::Exited } else { SleepCause::FailedToStart };
        let (why, reason) = match cause {
            Some(Cause::Asked) => (SleepCause::Stopped, format!("stopped{}", force(ended.signalled))),
            Some(Cause::Shutdown) => (SleepCause::HubRestarted, SHUTDOWN.to_owned()),
            Some(Cause::Finished(reason)) => (by_itself, reason),
            Some(Cause::Panicked(words)) => {
                let reason = format!("the driver of {title} failed, which is a fault of Longshore: {words}");
                (by_itself, reason)
            }
            Some(Cause::Stuck) => {
                (by_itself, format!("{title} did not read what it was told and was stopped"))
            }
            Some(Cause::Overrun) => {
                (by_itself, format!("{title} was told more than it took in and was stopped"))
            }
            Some(Cause::Lost(why)) => {
                let reason = format!("{title} does not answer and was stopped: {why}");
                (by_itself, quoting(reason, &ended.stderr))
            }
            Some(Cause::Idle) => (SleepCause::Stopped, "stopped; nobody needed it any more".to_owned()),
            // A process that ends closes its pipes first; only one that stayed has hung up.
            Some(Cause::HungUp) if ended.signalled.is_some() => (
                by_itself,
                quoting(format!("{title} closed its pipes without ending and was stopped"), &ended.stderr),
            ),
            Some(Cause::HungUp) | None => (by_itself, natural(title, &ended)),
        };
        let sleep = Sleep {
            cause: why,
            exit_code: ended.status.and_then(|status| status.code()),
            signal: ended.status.and_then(|status| status.signal()),
            stderr: ended.stderr,
        };
        Self { sleep, reason }
    }
}

const SHUTDOWN: &str = "Longshore was shut down, and the agent with it";

fn force(signalled: Option<Signal>) -> &'static str {
    match signalled {
        None => "",
        Some(Signal::TERM) => "; it ignored the end of its input and was terminated",
        Some(_) => "; it ignored the end of its input and SIGTERM and was killed",
    }
}

fn natural(title: &str, ended: &Ended) -> String {
    let Some(status) = ended.status else { return format!("{title} is gone") };
    let reason = match (status.code(), status.signal()) {
        // Agents complain on stderr in normal use; of one that ended well it is not the reason.
        (Some(0), _) => return format!("{title} ended"),
        (Some(code), _) => format!("{title} ended with code {code}"),
        (None, Some(signal)) => format!("{title} was killed by {}", signal_name(signal)),
        (None, None) => format!("{title} is gone"),
    };
    quoting(reason, &ended.stderr)
}

fn signal_name(signal: i32) -> String {
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::TERM, "SIGTERM"),
    ];
    let name = names.iter().find(|(known, _)| known.as_raw() == signal).map(|(_, name)| (*name).to_owned());
    name.unwrap_or_else(|| format!("signal {signal}"))
}

/// The reason, with the last line of stderr when there is one.
fn quoting(reason: String, stderr: &str) -> String {
    match stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        Some(last) => format!("{reason}: {}", last.chars().take(QUOTED).collect::<String>()),
        None => reason,
    }
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use super::*;

    fn ended(raw: i32, signalled: Option<Signal>) -> Ended {
        Ended {
            status: Some(ExitStatus::from_raw(raw)),
            signalled,
            stderr: "first\nthe cause\n\n".to_owned(),
        }
    }

    #[test]
    fn the_reason_says_what_happened_and_quotes_stderr() {
        let code = Ending::of("Codex", ended(3 << 8, None), None, true);
        assert_eq!(code.reason, "Codex ended with code 3: the cause");
        assert_eq!((code.sleep.cause, code.sleep.exit_code), (SleepCause::Exited, Some(3)));
        let killed = Ending::of("Codex", ended(9, None), Some(Cause::HungUp), true);
        assert_eq!(killed.reason, "Codex was killed by SIGKILL: the cause");
        assert_eq!((killed.sleep.signal, killed.sleep.exit_code), (Some(9), None));
    }

    #[test]
    fn an_agent_that_never_listened_failed_to_start() {
        let ending = Ending::of("Codex", ended(1 << 8, None), None, false);
        assert_eq!(ending.sleep.cause, SleepCause::FailedToStart);
    }

    #[test]
    fn a_stop_says_how_much_force_it_took() {
        let stopped = |signalled| Ending::of("Codex", ended(9, signalled), Some(Cause::Asked), true);
        assert_eq!(stopped(None).reason, "stopped");
        assert!(stopped(Some(Signal::KILL)).reason.ends_with("SIGTERM and was killed"));
        assert_eq!(stopped(None).sleep.cause, SleepCause::Stopped);
    }
}
