//! The life of a session in single lines: it opens, sleeps, wakes, is released.

use longshore_model::event::NoticeLevel;
use longshore_model::id::SessionId;
use longshore_model::lifecycle::{
    Delegation, DelegationEnd, FaultCode, Opened, Ready, SessionFault, Sleep, SleepCause, TurnOutcome,
    UsageLimit,
};
use longshore_model::time::Timestamp;

use super::clean::{clean, clean_output};
use super::human::{age, short_id};
use super::line::InkLine;
use super::style::{Ink, Style, ink};
use super::tool;
use super::wrap::text_behind;

/// From here on it is worth knowing how much of an allowance is gone, in percent.
const NOTEWORTHY: f64 = 80.0;

/// A remark that asks for no attention.
pub(super) fn remark(text: &str, style: &Style) -> Vec<InkLine> {
    signed(style.signs().dot, text, ink::DIM, style)
}

/// A line behind a sign, both in one ink.
pub(super) fn signed(sign: &str, text: &str, ink: Ink, style: &Style) -> Vec<InkLine> {
    let first = InkLine::of(&format!("{sign} "), ink);
    let rest = InkLine::of(&" ".repeat(first.width()), ink::PLAIN);
    text_behind(&clean(text), ink, style.columns(), &first, &rest)
}

pub(super) fn opened(opened: &Opened, session: SessionId, style: &Style) -> Vec<InkLine> {
    let dot = style.signs().dot;
    let mut text = format!("session {} {dot} {} in {}", short_id(session), opened.agent, opened.cwd);
    text.push_str(&format!(" {dot} mode {}", opened.mode));
    text.extend(opened.model.iter().map(|model| format!(" {dot} {model}")));
    text.extend(opened.parent.map(|parent| format!(" {dot} delegated by {}", short_id(parent))));
    text.extend(
        opened.forked_from.as_ref().map(|fork| format!(" {dot} forked from {}", short_id(fork.session))),
    );
    remark(&text, style)
}

pub(super) fn ready(ready: &Ready, agent: &str, style: &Style) -> Vec<InkLine> {
    let mut text = agent.to_owned();
    text.extend(ready.version.iter().map(|version| format!(" {version}")));
    text.push_str(" is ready");
    text.extend(ready.model.iter().map(|model| format!(" with {model}")));
    remark(&text, style)
}

pub(super) fn sleeping(sleep: &Sleep, agent: &str, why: &str, style: &Style) -> Vec<InkLine> {
    let signs = style.signs();
    let (sign, ink, mut text) = match sleep.cause {
        SleepCause::Exited => {
            let clean_exit = sleep.signal.is_none() && sleep.exit_code.unwrap_or(0) == 0;
            let how = match (sleep.exit_code, sleep.signal) {
                (_, Some(signal)) => format!(" (signal {signal})"),
                (Some(code), None) => format!(" (exit {code})"),
                (None, None) => String::new(),
            };
            let (sign, ink) = if clean_exit { (signs.asleep, ink::DIM) } else { (signs.failed, ink::BAD) };
            (sign, ink, format!("{agent} ended{how}"))
        }
        SleepCause::FailedToStart => (signs.failed, ink::BAD, format!("{agent} did not start")),
        SleepCause::Stopped => (signs.asleep, ink::DIM, format!("{agent} was stopped")),
        SleepCause::Released => {
            (signs.asleep, ink::DIM, format!("{agent} was released, for its own terminal to go on"))
        }
        SleepCause::Idle => (signs.asleep, ink::DIM, format!("{agent} was idle and was stopped")),
        SleepCause::HubRestarted => {
            (signs.asleep, ink::HINT, format!("the hub restarted, and {agent} stopped with it"))
        }
        SleepCause::LogFailed => {
            (signs.failed, ink::BAD, format!("{agent} was stopped: the log cannot be written"))
        }
    };
    // Of an agent that was stopped on purpose, neither the reason nor its last complaints are news.
    let on_purpose = match sleep.cause {
        SleepCause::Stopped | SleepCause::HubRestarted | SleepCause::Released | SleepCause::Idle => true,
        SleepCause::Exited | SleepCause::FailedToStart | SleepCause::LogFailed => false,
    };
    if !why.trim().is_empty() && !on_purpose {
        text.push_str(&format!(": {}", why.trim()));
    }
    let mut lines = signed(sign, &text, ink, style);
    if !on_purpose {
        lines.extend(tool::last_words(clean_output(&sleep.stderr).trim(), style));
    }
    if sleep.cause != SleepCause::LogFailed {
        lines.extend(signed(" ", "the next prompt wakes it", ink::DIM, style));
    }
    lines
}

pub(super) fn revived(from_log: bool, agent: &str, style: &Style) -> Vec<InkLine> {
    let text = if from_log {
        format!("{agent} resumed from Longshore's log")
    } else {
        format!("{agent} resumed and remembers")
    };
    remark(&text, style)
}

pub(super) fn handed_off(command: &str, style: &Style) -> Vec<InkLine> {
    let text = if command.is_empty() {
        "the session goes on in the agent's own terminal".to_owned()
    } else {
        format!("the session goes on in the agent's own terminal: {command}")
    };
    remark(&text, style)
}

pub(super) fn fault(fault: SessionFault, text: &str, agent: &str, style: &Style) -> Vec<InkLine> {
    let said = match fault.code {
        FaultCode::StartFailed => format!("{agent} did not start"),
        FaultCode::ResumeFailed => format!("{agent} does not remember the conversation"),
        FaultCode::Refused => format!("{agent} refused"),
        FaultCode::Timeout => format!("{agent} did not answer in time"),
        FaultCode::BadConfiguration => format!("the configuration of {agent} is broken"),
    };
    let text = if text.trim().is_empty() { said } else { format!("{said}: {}", text.trim()) };
    let mut lines = signed(style.signs().failed, &text, ink::BAD, style);
    if fault.code == FaultCode::ResumeFailed {
        lines.extend(signed(" ", "it is told what the log holds", ink::DIM, style));
    }
    lines
}

pub(super) fn notice(level: NoticeLevel, text: &str, style: &Style) -> Vec<InkLine> {
    match level {
        NoticeLevel::Info => remark(text, style),
        NoticeLevel::Warning => signed("!", text, ink::HINT, style),
        NoticeLevel::Error => signed(style.signs().failed, text, ink::BAD, style),
    }
}

/// Silent until the allowance runs short.
pub(super) fn limited(limit: &UsageLimit, now: Timestamp, style: &Style) -> Vec<InkLine> {
    if limit.used_percent < NOTEWORTHY {
        return Vec::new();
    }
    let mut text = format!("{:.0}% of {} is used", limit.used_percent, limit.name);
    if let Some(resets_at) = limit.resets_at {
        let ahead = Timestamp::from_micros(resets_at.saturating_mul(1_000_000)).millis_since(now);
        if ahead > 0 {
            text.push_str(&format!(", starts over in {}", age(ahead)));
        }
    }
    signed("!", &text, ink::HINT, style)
}

pub(super) fn delegated(delegation: &Delegation, task: &str, style: &Style) -> Vec<InkLine> {
    let first =
        InkLine::of(style.signs().card, ink::BUSY).with(" Delegate", ink::BOLD).with("  ", ink::PLAIN);
    let rest = InkLine::of("    ", ink::PLAIN);
    let to = format!("to {} (session {})", delegation.agent, short_id(delegation.child));
    let mut lines = text_behind(&clean(&to), ink::PLAIN, style.columns(), &first, &rest);
    lines.extend(text_behind(&clean(task), ink::DIM, style.columns(), &rest, &rest));
    lines
}

/// What stands above the end of a delegation that did not begin right there.
pub(super) fn delegated_before(end: &DelegationEnd, style: &Style) -> Vec<InkLine> {
    let head = InkLine::of(style.signs().again, ink::DIM).with(" Delegate", ink::BOLD);
    vec![head.with(&format!("  session {}", short_id(end.child)), ink::PLAIN)]
}

pub(super) fn delegation_end(end: &DelegationEnd, result: &str, style: &Style) -> Vec<InkLine> {
    let signs = style.signs();
    let (sign, ink, word) = match end.outcome {
        TurnOutcome::Completed => (signs.done, ink::GOOD, "done"),
        TurnOutcome::Failed => (signs.failed, ink::BAD, "failed"),
        TurnOutcome::Interrupted => (signs.stopped, ink::WARN, "interrupted"),
    };
    let mut lines = tool::tail(clean_output(result).trim(), style);
    lines.push(InkLine::of("  ", ink::PLAIN).with(sign, ink).with(&format!(" {word}"), ink::DIM));
    lines
}
