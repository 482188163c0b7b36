//! Why an agent ended, for programs and for people.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use longshore_model::event::{Body, Draft};
use longshore_model::lifecycle::{Sleep, SleepCause};
use rustix::process::Signal;

use crate::transport::ChildExit;

/// How many characters of stderr a reason quotes.
const QUOTED: usize = 500;

/// Why the anchor stops a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The session requested it.
    Asked,
    /// The hub shuts down.
    Shutdown,
    /// The driver gave the process up, for this reason.
    Finished(String),
    /// The driver panicked, with these words.
    Panicked(String),
    /// The agent did not end an interrupted turn.
    Unheeded {
        /// How long the agent had.
        within: Duration,
    },
    /// The agent does not read its input.
    Stuck,
    /// The agent's sessions sent more messages than may wait.
    Overrun,
    /// The process closed a pipe.
    HungUp,
    /// The agent's server is gone, or its program has no connection.
    Lost(String),
    /// The process hosts many sessions, and the last one has ended.
    Idle,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ending {
    pub(crate) sleep: Sleep,
    pub(crate) reason: String,
}

impl Ending {
    /// The process never ran.
    pub(crate) fn not_started(reason: String) -> Self {
        Self { sleep: Sleep { cause: SleepCause::FailedToStart, ..Sleep::default() }, reason }
    }

    /// No process runs for this session.
    pub(crate) fn not_running() -> Self {
        let sleep = Sleep { cause: SleepCause::Exited, ..Sleep::default() };
        Self { sleep, reason: "no agent runs for this session".to_owned() }
    }

    /// The process that hosted the session let it go: one of many sessions, or a child.
    pub(crate) fn let_go(was_opened: bool) -> Self {
        let sleep = Sleep { cause: SleepCause::Stopped, ..Sleep::default() };
        let reason = match was_opened {
            true => "stopped; the agent's process may continue for other sessions",
            false => "stopped; the agent's process continues for its first session",
        };
        Self { sleep, reason: reason.to_owned() }
    }

    /// The driver gave up on this session alone.
    pub(crate) fn given_up(reason: String, began: bool) -> Self {
        let cause = if began { SleepCause::Exited } else { SleepCause::FailedToStart };
        Self { sleep: Sleep { cause, ..Sleep::default() }, reason }
    }

    /// The process was stopped before it ran.
    pub(crate) fn stopped_before_start(cause: &Cause) -> Self {
        let (cause, reason) = match cause {
            Cause::Shutdown => (SleepCause::HubRestarted, SHUTDOWN),
            Cause::Asked
            | Cause::Finished(_)
            | Cause::Panicked(_)
            | Cause::Unheeded { .. }
            | Cause::Stuck
            | Cause::Overrun
            | Cause::HungUp
            | Cause::Lost(_)
            | Cause::Idle => (SleepCause::Stopped, "stopped before it started"),
        };
        Self { sleep: Sleep { cause, ..Sleep::default() }, reason: reason.to_owned() }
    }

    /// The process ran and ended. `began` says whether the agent was ever ready.
    pub(crate) fn of(title: &str, ended: ChildExit, cause: Option<Cause>, began: bool) -> Self {
        let by_itself = if began { SleepCause::Exited } else { SleepCause::FailedToStart };
        let (why, reason) = match cause {
            Some(Cause::Asked) => (SleepCause::Stopped, format!("stopped{}", force(ended.signalled))),
            Some(Cause::Shutdown) => (SleepCause::HubRestarted, SHUTDOWN.to_owned()),
            Some(Cause::Finished(reason)) => (by_itself, reason),
            Some(Cause::Panicked(words)) => {
                let reason = format!(
                    "the driver of {title} failed; this is a fault in Longshore, please report it: {words}"
                );
                (by_itself, reason)
            }
            Some(Cause::Unheeded { within }) => {
                let within = within.as_secs();
                let reason = format!(
                    "{title} did not stop within {within} s after an interrupt, so the hub ended it; the next prompt starts it again"
                );
                (SleepCause::Stopped, reason)
            }
            Some(Cause::Stuck) => (
                by_itself,
                format!(
                    "{title} did not read its input, so the hub stopped it; the next prompt starts it again"
                ),
            ),
            Some(Cause::Overrun) => (
                by_itself,
                format!(
                    "{title} did not read its input fast enough, so the hub stopped it; the next prompt starts it again"
                ),
            ),
            Some(Cause::Lost(why)) => {
                let reason = format!("{title} does not answer and was stopped: {why}");
                (by_itself, quoting(reason, &ended.stderr))
            }
            Some(Cause::Idle) => (SleepCause::Stopped, "stopped, because no session needs it".to_owned()),
            // A process that ends closes its pipes first. Only a process that needed a signal had closed them
            // and stayed.
            Some(Cause::HungUp) if ended.signalled.is_some() => (
                by_itself,
                quoting(
                    format!("{title} closed its input and output but did not end, so the hub stopped it"),
                    &ended.stderr,
                ),
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

/// How a line begins that reports the error.
const SIGNS: [&str; 5] = ["error:", "error[", "fatal:", "uncaught ", "fatal error"];

/// How many lines of a paragraph are quoted if no line reports an error.
const PARAGRAPH: usize = 4;

const SHUTDOWN: &str = "Longshore was shut down, and the agent with it";

fn force(signalled: Option<Signal>) -> &'static str {
    match signalled {
        None => "",
        Some(Signal::TERM) => "; it ignored the end of its input and was terminated",
        Some(_) => "; it ignored the end of its input and SIGTERM and was killed",
    }
}

fn natural(title: &str, ended: &ChildExit) -> String {
    let Some(status) = ended.status else { return format!("{title} is gone") };
    // Agents write to stderr in normal use. If an agent ended well or was killed, its stderr is not the
    // reason.
    match (status.code(), status.signal()) {
        (Some(0), _) => format!("{title} ended"),
        (Some(code), _) => quoting(format!("{title} ended with code {code}"), &ended.stderr),
        (None, Some(signal)) => format!("{title} was killed by {}", signal_name(signal)),
        (None, None) => format!("{title} is gone"),
    }
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

/// Adds the agent's own complaint to the reason.
fn quoting(reason: String, stderr: &str) -> String {
    match complaint(stderr) {
        Some(complaint) if complaint.chars().count() > QUOTED => {
            format!("{reason}: {}…", complaint.chars().take(QUOTED).collect::<String>())
        }
        Some(complaint) => format!("{reason}: {complaint}"),
        None => reason,
    }
}

/// The error in the stderr of an agent: the last line that says that it is an error, or else the last
/// paragraph.
fn complaint(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().map(str::trim_end).collect();
    let says_so = |line: &&&str| {
        let line = line.to_lowercase();
        let word = line.trim_start();
        SIGNS.iter().any(|sign| word.starts_with(sign)) || line.contains("panicked at")
    };
    if let Some(at) = lines.iter().rposition(|line| says_so(&line)) {
        // The message of a panic is in the next line.
        let more = lines[at].contains("panicked at") && lines[at].ends_with(':');
        let told = lines.get(at..=at + usize::from(more)).unwrap_or(&lines[at..=at]);
        return Some(told.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "));
    }
    let end = lines.iter().rposition(|line| !line.trim().is_empty())?;
    let begin = lines[..end].iter().rposition(|line| line.trim().is_empty()).map_or(0, |empty| empty + 1);
    let begin = begin.max(end.saturating_sub(PARAGRAPH - 1));
    Some(lines[begin..=end].join("\n").trim().to_owned())
}

/// Replaces the end of a turn that an agent reports while the hub stops. The agent's input is closed and its
/// commands end, so its report is not the real end of the turn. The turn ends with the agent, for that
/// reason, and can be resumed. Prompts that wait behind the turn do not go to an agent that is about to end.
pub(crate) fn without_end_of_turn(draft: Draft) -> Draft {
    if !matches!(draft.body, Body::TurnFinished(_)) {
        return draft;
    }
    Draft { body: Body::Raw { kind: "stopped".to_owned(), fault: None }, ..draft }
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use longshore_model::event::Raw;
    use longshore_model::lifecycle::{TurnEnd, TurnOutcome};

    use super::*;

    #[test]
    fn a_turn_that_an_agent_ends_while_the_hub_stops_ends_with_its_agent() {
        for outcome in [TurnOutcome::Completed, TurnOutcome::Interrupted, TurnOutcome::Failed] {
            let said = Draft::new(Body::TurnFinished(TurnEnd::of(outcome))).raw(Raw::from("{}"));
            let left = without_end_of_turn(said.clone());
            assert!(matches!(left.body, Body::Raw { .. }), "{left:?}");
            assert_eq!(left.raw, said.raw, "its line is kept");
        }
        let words = Draft::new(Body::MessageStarted);
        assert_eq!(without_end_of_turn(words.clone()), words);
    }

    fn ended(raw: i32, signalled: Option<Signal>) -> ChildExit {
        ChildExit {
            status: Some(ExitStatus::from_raw(raw)),
            signalled,
            stderr: "first\n\nthe cause\n\n".to_owned(),
        }
    }

    #[test]
    fn the_reason_says_what_happened_and_quotes_stderr() {
        let code = Ending::of("Codex", ended(3 << 8, None), None, true);
        assert_eq!(code.reason, "Codex ended with code 3: the cause");
        assert_eq!((code.sleep.cause, code.sleep.exit_code), (SleepCause::Exited, Some(3)));
        let killed = Ending::of("Codex", ended(9, None), Some(Cause::HungUp), true);
        assert_eq!(killed.reason, "Codex was killed by SIGKILL", "what it once complained of is not why");
        assert_eq!(killed.sleep.stderr, "first\n\nthe cause\n\n");
        assert_eq!((killed.sleep.signal, killed.sleep.exit_code), (Some(9), None));
    }

    #[test]
    fn the_error_is_quoted_whole_and_not_what_stands_around_it() {
        let long =
            format!("Error: {} is no longer supported; remove this setting", "approval_policy ".repeat(9));
        let told = format!("WARNING: proceeding\n{long}\n\nCaused by:\n    5: <unknown>\n");
        assert_eq!(complaint(&told).as_deref(), Some(long.as_str()));
        let panic =
            "thread 'main' panicked at src/main.rs:1:2:\nno such heron\nnote: run with `RUST_BACKTRACE=1`\n";
        let said = complaint(panic).unwrap();
        assert_eq!(said, "thread 'main' panicked at src/main.rs:1:2: no such heron");
        let node =
            "file:///x.js:3\n    throw new Error('gone');\n\nError: gone\n    at x.js:3\n\nNode.js v22\n";
        assert_eq!(complaint(node).as_deref(), Some("Error: gone"));
        assert_eq!(complaint("old\n\nno login\nlog in first\n").as_deref(), Some("no login\nlog in first"));
        assert_eq!(complaint("\n \n"), None);
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
