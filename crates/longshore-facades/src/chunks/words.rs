//! What the protocol has no place for, as sentences of the answer: approvals, questions, warnings, how a turn ended.

use longshore_model::approval::{
    AnswerAction, ApprovalDecision, ApprovalRequest, QuestionAnswer, QuestionRequest, Subject,
};
use longshore_model::describe::{reveal, running};
use longshore_model::event::NoticeLevel;
use longshore_model::item::{ToolCall, ToolKind};
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
use longshore_model::timeline::{Content, Item};

use super::tools::command_block;

/// The sentence that an item adds to the answer as it is now; none if it adds nothing. `place` is the address at which
/// a person can answer.
pub(super) fn sentence(item: &Item, place: &str) -> Option<String> {
    match &item.content {
        Content::Approval { request, decision: None, expired: None } => {
            Some(requested(request, &item.text, place))
        }
        Content::Approval { decision: Some(decision), .. } => Some(decided(decision)),
        Content::Question { request, answer: None, expired: None } => {
            Some(question(request, &item.text, place))
        }
        Content::Question { answer: Some(answer), .. } => Some(answered(answer)),
        Content::Approval { expired: Some(why), .. } | Content::Question { expired: Some(why), .. } => {
            Some(format!("*Nobody needs to answer any more: {}*", line(why)))
        }
        Content::TurnEnd(end) => ended(end, &item.text),
        Content::Notice { level: NoticeLevel::Warning | NoticeLevel::Error } if !item.text.is_empty() => {
            Some(format!("⚠️ *{}*", line(&item.text)))
        }
        Content::Notice { level: NoticeLevel::Info | NoticeLevel::Warning | NoticeLevel::Error }
        | Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::Plan { .. }
        | Content::Tool { .. }
        | Content::Diff { .. }
        | Content::TurnDiff
        | Content::Delegation { .. } => None,
    }
}

/// The sentences that an item has added to the answer in all, for the history.
pub(super) fn sentences(item: &Item, place: &str) -> Vec<String> {
    let before = match &item.content {
        Content::Approval { request, decision, expired } if decision.is_some() || expired.is_some() => {
            Some(requested(request, &item.text, place))
        }
        Content::Question { request, answer, expired } if answer.is_some() || expired.is_some() => {
            Some(question(request, &item.text, place))
        }
        Content::Approval { .. }
        | Content::Question { .. }
        | Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::Plan { .. }
        | Content::Tool { .. }
        | Content::Diff { .. }
        | Content::TurnDiff
        | Content::Delegation { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => None,
    };
    before.into_iter().chain(sentence(item, place)).collect()
}

/// The prompt was taken back before the agent got it.
pub(super) const TAKEN_BACK: &str = "*This message was taken back before the agent got it.*";

/// The prompt waits until a person releases it.
pub(super) fn held(why: &str, place: &str) -> String {
    format!("⏸️ **This message is held** ({}). Release it in Longshore: {place}", line(why))
}

/// The stream cannot go on, and says so in its last object: after a body that breaks off, clients send the message again.
pub(super) fn broken(why: &str) -> String {
    format!("❌ **Longshore cannot show the rest:** {}", line(why))
}

fn requested(request: &ApprovalRequest, reason: &str, place: &str) -> String {
    let what = match &request.subject {
        Subject::Command { command, .. } => format!("run a command\n\n{}", command_block(command)),
        Subject::Edit { changes, .. } => {
            let paths: Vec<String> =
                changes.iter().map(|change| format!("- {}", line(&change.path))).collect();
            format!("change files\n\n{}", paths.join("\n"))
        }
        Subject::Tool { name, input } => {
            let call = ToolCall {
                name: name.clone(),
                kind: ToolKind::Other,
                command: None,
                cwd: None,
                input: input.clone(),
            };
            format!("use a tool\n\n- {}", line(&running(&call)))
        }
        Subject::Plan { plan } => format!("carry out a plan\n\n{plan}"),
        Subject::Permissions { .. } => "get more permissions".to_owned(),
    };
    let reason = match reason.trim() {
        "" => String::new(),
        reason => format!("\n\n{}", line(reason)),
    };
    format!("⏳ **The agent waits for an approval** to {what}{reason}\n\nDecide it in Longshore: {place}")
}

fn decided(decision: &ApprovalDecision) -> String {
    let (mark, did) = if decision.decision.allows() { ("✅", "allowed") } else { ("🚫", "denied") };
    format!("{mark} *{} {did} it.*", line(&decision.by))
}

fn question(request: &QuestionRequest, text: &str, place: &str) -> String {
    let fields = request.fields.iter().map(|field| {
        let about = if field.text.is_empty() { &field.label } else { &field.text };
        let choices: Vec<&str> = field.choices.iter().map(|choice| choice.label.as_str()).collect();
        match choices.is_empty() {
            true => format!("\n- {}", line(about)),
            false => format!("\n- {} ({})", line(about), line(&choices.join(", "))),
        }
    });
    let fields: String = fields.collect();
    let gap = if fields.is_empty() { "" } else { "\n" };
    format!("❓ **The agent asks:** {}{gap}{fields}\n\nAnswer it in Longshore: {place}", line(text))
}

fn answered(answer: &QuestionAnswer) -> String {
    let did = match answer.action {
        AnswerAction::Accept => "answered it",
        AnswerAction::Decline => "refused to answer",
        AnswerAction::Cancel => "dismissed the question",
    };
    format!("💬 *{} {did}.*", line(&answer.by))
}

fn ended(end: &TurnEnd, text: &str) -> Option<String> {
    match end.outcome {
        TurnOutcome::Completed => None,
        TurnOutcome::Interrupted => Some("⏹️ *The turn was stopped.*".to_owned()),
        TurnOutcome::Failed => {
            let why = end.error.as_ref().map_or(text, |error| error.message.as_str());
            Some(match why.trim() {
                "" => "❌ **The turn failed.**".to_owned(),
                why => format!("❌ **The turn failed:** {}", line(why)),
            })
        }
    }
}

/// A text that stays on its line, with its invisible characters written out.
fn line(text: &str) -> String {
    reveal(text.trim()).split_whitespace().collect::<Vec<_>>().join(" ")
}
