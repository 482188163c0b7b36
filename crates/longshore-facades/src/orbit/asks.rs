//! Approvals and questions as requests of the server.

use longshore_model::approval::{
    ApprovalRequest, Choice, Decision, Field, FieldKind, QuestionRequest, Subject,
};
use longshore_model::describe::reveal;
use longshore_model::id::SessionId;
use longshore_model::timeline::{Content, Item};
use serde_json::{Value, json};

use super::wire::{Params, Question, QuestionOption, ServerFrame};
use crate::kernel::ask::Ask;
use crate::push::request_text;

/// The choices of a field that is true or false.
const YES: &str = "Yes";
const NO: &str = "No";

/// The request that shows the card of an open approval or question; none for any other item.
///
/// The client names its card after `itemId`. Several cards can be about one item, so it is the id of what is asked.
pub(super) fn request<'a>(thread: SessionId, home: &str, item: &'a Item) -> Option<ServerFrame<'a>> {
    if let Content::Approval { request, decision: None, expired: None } = &item.content {
        Some(approval(thread, home, item, request))
    } else if let Content::Question { request, answer: None, expired: None } = &item.content {
        Some(question(thread, item, request))
    } else {
        None
    }
}

/// The request that an item was, whether it still waits or not.
pub(super) fn request_once<'a>(thread: SessionId, home: &str, item: &'a Item) -> Option<ServerFrame<'a>> {
    if let Content::Approval { request, .. } = &item.content {
        Some(approval(thread, home, item, request))
    } else if let Content::Question { request, .. } = &item.content {
        Some(question(thread, item, request))
    } else {
        None
    }
}

fn approval<'a>(
    thread: SessionId,
    home: &str,
    item: &'a Item,
    request: &'a ApprovalRequest,
) -> ServerFrame<'a> {
    let (method, command, cwd) = match &request.subject {
        Subject::Command { command, cwd, .. } => {
            ("item/commandExecution/requestApproval", Some(command.as_str()), cwd.as_deref())
        }
        Subject::Edit { .. } => ("item/fileChange/requestApproval", None, None),
        Subject::Tool { .. } => ("item/mcpToolCall/requestApproval", None, None),
        Subject::Plan { .. } => ("item/plan/requestApproval", None, None),
        Subject::Permissions { .. } => ("item/permissions/requestApproval", None, None),
    };
    // The card shows the reason and nothing else, so the reason says all of it.
    let asked = reveal(&request_text(&request.subject, home));
    let why = reveal(item.text.trim());
    let reason = match why.is_empty() {
        true => format!("The agent {asked}"),
        false => format!("The agent {asked}\n{why}"),
    };
    let params = Params::Approval {
        thread_id: thread,
        turn_id: item.turn,
        item_id: request.approval.to_string(),
        reason,
        command,
        cwd,
        available_decisions: words(&request.options),
    };
    ServerFrame { id: Some(Ask::Approval(request.approval).foreign()), method, params }
}

/// The decisions that the agent can carry out, in the client's words.
fn words(options: &[Decision]) -> Vec<&'static str> {
    let word = |decision: &Decision| match decision {
        Decision::AllowOnce => "accept",
        Decision::AllowSession | Decision::AllowAlways => "acceptForSession",
        Decision::Deny => "decline",
        Decision::Cancel => "cancel",
    };
    let mut words: Vec<&str> = options.iter().map(word).collect();
    words.dedup();
    words
}

fn question<'a>(thread: SessionId, item: &'a Item, request: &'a QuestionRequest) -> ServerFrame<'a> {
    let params = Params::Question {
        thread_id: thread,
        turn_id: item.turn,
        item_id: request.question.to_string(),
        questions: request.fields.iter().map(|field| asked(item, field)).collect(),
    };
    let id = Some(Ask::Question(request.question).foreign());
    ServerFrame { id, method: "item/tool/requestUserInput", params }
}

fn asked<'a>(item: &'a Item, field: &'a Field) -> Question<'a> {
    let option =
        |choice: &'a Choice| QuestionOption { label: &choice.label, description: &choice.description };
    let options = match field.kind {
        FieldKind::Boolean => [YES, NO].map(|label| QuestionOption { label, description: "" }).into(),
        FieldKind::One | FieldKind::Many | FieldKind::Text | FieldKind::Number | FieldKind::Integer => {
            field.choices.iter().map(option).collect()
        }
    };
    Question {
        id: &field.id,
        header: &field.label,
        question: if field.text.trim().is_empty() { &item.text } else { &field.text },
        is_other: field.open,
        is_secret: field.secret,
        options,
    }
}

/// What a client means by a decision: the nearest one first.
pub(super) fn decisions(word: &str) -> Option<&'static [Decision]> {
    use Decision::{AllowAlways, AllowOnce, AllowSession, Cancel, Deny};
    Some(match word {
        "accept" | "allow_once" => &[AllowOnce, AllowSession, AllowAlways],
        "acceptForSession" | "allow_session" => &[AllowSession, AllowAlways, AllowOnce],
        "allow_always" => &[AllowAlways, AllowSession, AllowOnce],
        "decline" | "reject_once" | "reject_always" | "deny" => &[Deny, Cancel],
        "cancel" => &[Cancel, Deny],
        _ => return None,
    })
}

/// The value of a field for the texts that a client sends.
pub(super) fn value_of(kind: FieldKind, texts: &[String]) -> Value {
    let first = texts.first().map(|text| text.trim()).unwrap_or_default();
    match kind {
        FieldKind::Many => json!(texts),
        FieldKind::Text | FieldKind::One => json!(texts.join(", ")),
        FieldKind::Boolean => match first.to_lowercase().as_str() {
            "yes" | "true" => json!(true),
            "no" | "false" => json!(false),
            _ => json!(first),
        },
        FieldKind::Number | FieldKind::Integer => {
            first.parse().map(Value::Number).unwrap_or_else(|_| json!(first))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_what_the_field_takes() {
        let value = |kind, texts: &[&str]| {
            value_of(kind, &texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(value(FieldKind::Integer, &[" 80 "]), json!(80));
        assert_eq!(value(FieldKind::Number, &["many"]), json!("many"), "the session says what is wrong");
        assert_eq!(value(FieldKind::Boolean, &[YES]), json!(true));
        assert_eq!(value(FieldKind::Many, &["a", "b"]), json!(["a", "b"]));
        assert_eq!(value(FieldKind::One, &["a"]), json!("a"));
    }

    #[test]
    fn each_word_of_the_client_allows_or_denies_and_never_both() {
        for word in ["accept", "acceptForSession", "allow_once", "allow_session", "allow_always"] {
            assert!(decisions(word).unwrap().iter().all(|decision| decision.allows()), "{word}");
        }
        for word in ["decline", "cancel", "reject_once", "reject_always", "deny"] {
            assert!(decisions(word).unwrap().iter().all(|decision| !decision.allows()), "{word}");
        }
        assert_eq!(decisions("yes"), None);
    }
}
