//! What the app has no frame for, in words: approvals and questions, which it cannot answer, and how turns end.

use longshore_model::approval::{
    AnswerAction, ApprovalDecision, ApprovalRequest, Decision, QuestionAnswer, QuestionRequest, Subject,
};
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};

use super::size::brief;

/// The most characters of a command or a question.
const QUOTED: usize = 2_000;

/// An approval that waits.
pub(crate) fn approval_waits(agent: &str, request: &ApprovalRequest, reason: &str) -> String {
    let wish = wish(&request.subject);
    let reason = match reason {
        "" => String::new(),
        reason => format!(" Its reason: {}", brief(reason, QUOTED)),
    };
    format!(
        "⏸ {agent} waits for permission {wish}.{reason}\n\nThis app cannot give it. Decide in the web app of \
         Longshore, or with `longshore approve` or `longshore deny`."
    )
}

/// What an agent wants to do.
fn wish(subject: &Subject) -> String {
    match subject {
        Subject::Command { command, cwd, always: _ } => {
            let place = cwd.as_ref().map(|cwd| format!(" in {cwd}")).unwrap_or_default();
            format!("to run `{}`{place}", brief(command, QUOTED))
        }
        Subject::Edit { changes, grant_root } => {
            let files: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
            match (files.is_empty(), grant_root) {
                (false, _) => format!("to change {}", brief(&files.join(", "), QUOTED)),
                (true, Some(root)) => format!("to write to {root}"),
                (true, None) => "to change files".to_owned(),
            }
        }
        Subject::Tool { name, input: _ } => format!("to call `{name}`"),
        Subject::Plan { plan } => format!("to carry out its plan:\n\n{}\n\n", brief(plan, 4 * QUOTED)),
        Subject::Permissions { permissions } => {
            format!("to do more than its mode allows: {}", brief(&permissions.to_string(), QUOTED))
        }
    }
}

/// An approval that somebody decided.
pub(crate) fn approval_decided(request: &ApprovalRequest, made: &ApprovalDecision) -> String {
    let (mark, did) = match made.decision {
        Decision::AllowOnce => ("✅", "allowed this once"),
        Decision::AllowSession => ("✅", "allowed this for the session"),
        Decision::AllowAlways => ("✅", "allowed this for good"),
        Decision::Deny => ("⛔", "denied this"),
        Decision::Cancel => ("⛔", "denied this and stopped the turn"),
    };
    let message = made.message.as_ref().map(|message| format!(" \"{message}\"")).unwrap_or_default();
    let wish = match &request.subject {
        Subject::Plan { .. } => "to carry out the plan".to_owned(),
        Subject::Command { .. }
        | Subject::Edit { .. }
        | Subject::Tool { .. }
        | Subject::Permissions { .. } => wish(&request.subject),
    };
    format!("{mark} {} {did}: {wish}.{message}", made.by)
}

/// An approval that nobody can decide any more.
pub(crate) fn approval_expired(why: &str) -> String {
    format!("Nobody can give the permission any more: {why}.")
}

/// A question that waits.
pub(crate) fn question_waits(agent: &str, request: &QuestionRequest, text: &str) -> String {
    let asker = request.source.as_deref().unwrap_or(agent);
    let mut said = format!("❓ {asker} asks: {}", brief(text, QUOTED));
    for field in &request.fields {
        let label = if field.text.is_empty() || field.text == text { &field.label } else { &field.text };
        let choices: Vec<&str> = field.choices.iter().map(|choice| choice.label.as_str()).collect();
        let choices = if choices.is_empty() { String::new() } else { format!(" ({})", choices.join(", ")) };
        said += &format!("\n- {}", brief(&format!("{label}{choices}"), QUOTED));
    }
    said + "\n\nThis app cannot answer. Answer in the web app of Longshore, or with `longshore answer`."
}

/// A question that somebody answered. Its secrets are not in the log.
pub(crate) fn question_answered(given: &QuestionAnswer) -> String {
    let did = match given.action {
        AnswerAction::Accept => "answered",
        AnswerAction::Decline => "declined to answer",
        AnswerAction::Cancel => "dismissed the question",
    };
    let answers: Vec<String> =
        given.answers.iter().map(|(field, answer)| format!("{field}: {answer}")).collect();
    match answers.is_empty() {
        true => format!("{} {did}.", given.by),
        false => format!("{} {did}: {}.", given.by, brief(&answers.join(", "), QUOTED)),
    }
}

/// A question that nobody can answer any more.
pub(crate) fn question_expired(why: &str) -> String {
    format!("Nobody can answer the question any more: {why}.")
}

/// The end of a turn, if it is not the usual one.
pub(crate) fn turn_ended(end: &TurnEnd, text: &str) -> Option<String> {
    let error = end.error.as_ref().map(|error| error.message.as_str()).filter(|message| !message.is_empty());
    let why = error.or(Some(text).filter(|text| !text.is_empty()));
    match (end.outcome, why) {
        (TurnOutcome::Completed, _) => None,
        (TurnOutcome::Failed, Some(why)) => Some(format!("The turn failed: {why}")),
        (TurnOutcome::Failed, None) => Some("The turn failed.".to_owned()),
        (TurnOutcome::Interrupted, Some(why)) => Some(format!("The turn was interrupted: {why}")),
        (TurnOutcome::Interrupted, None) => Some("The turn was interrupted.".to_owned()),
    }
}
