//! Approvals and questions as permissions. A question is a permission for the tool `AskUserQuestion`, whose answers come
//! back in its input, under the texts of the questions.

use std::collections::BTreeMap;

use longshore_model::approval::{Field, FieldKind, QuestionRequest, Subject};
use longshore_model::id::QuestionId;
use longshore_model::info::{OpenApproval, OpenQuestion};
use longshore_model::timeline::{Content, Item, Timeline};
use serde_json::{Value, json};

use super::cards::changes_of;
use super::cut;
use crate::kernel::ask::Ask;
use crate::mobile::wire::{Permission, millis};

/// The tool whose permission is a question.
pub(super) const QUESTION_TOOL: &str = "AskUserQuestion";
/// The words for yes and no.
const YES_NO: [&str; 2] = ["Yes", "No"];

/// The id under which the app answers a question, and the id of its card.
pub(super) fn question_id(question: QuestionId) -> String {
    Ask::Question(question).foreign()
}

/// What an item asks a person, if it waits for one.
pub(in crate::mobile) fn permission_of(item: &Item, provider: &str) -> Option<Permission> {
    if item.ended_at.is_some() {
        return None;
    }
    let (ask, (tool_name, tool_input)) = match &item.content {
        Content::Approval { request, .. } => {
            (Ask::Approval(request.approval), asked(provider, &request.subject, &item.text))
        }
        Content::Question { request, .. } => {
            let input = question_input(request, &item.text);
            (Ask::Question(request.question), (QUESTION_TOOL.to_owned(), input))
        }
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::Plan { .. }
        | Content::Tool { .. }
        | Content::Diff { .. }
        | Content::TurnDiff
        | Content::Delegation { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => return None,
    };
    Some(Permission { request_id: ask.foreign(), tool_name, tool_input, timestamp: millis(item.started_at) })
}

/// All that waits for a person.
pub(in crate::mobile) fn open_permissions(timeline: &Timeline, provider: &str) -> Vec<Permission> {
    timeline.items.iter().filter_map(|item| permission_of(item, provider)).collect()
}

/// An approval of a session's row.
pub(super) fn of_approval(provider: &str, open: &OpenApproval) -> Permission {
    let reason = open.reason.as_deref().unwrap_or_default();
    let (tool_name, tool_input) = asked(provider, &open.request.subject, reason);
    let request_id = Ask::Approval(open.request.approval).foreign();
    Permission { request_id, tool_name, tool_input, timestamp: millis(open.requested_at) }
}

/// A question of a session's row.
pub(super) fn of_question(open: &OpenQuestion) -> Permission {
    Permission {
        request_id: question_id(open.request.question),
        tool_name: QUESTION_TOOL.to_owned(),
        tool_input: question_input(&open.request, open.text.as_deref().unwrap_or_default()),
        timestamp: millis(open.asked_at),
    }
}

/// The tool and its input of an approval.
fn asked(provider: &str, subject: &Subject, reason: &str) -> (String, Value) {
    let is_codex = provider.starts_with("codex");
    let (name, mut input) = match subject {
        Subject::Command { command, .. } if is_codex => {
            ("command_execution", json!({ "command": command, "args": [] }))
        }
        Subject::Command { command, cwd, .. } => ("Bash", json!({ "command": command, "cwd": cwd })),
        Subject::Edit { changes, .. } if is_codex => {
            ("file_change", json!({ "changes": changes_of(changes) }))
        }
        Subject::Edit { changes, .. } => {
            let path = changes.first().map(|change| change.path.as_str());
            ("Edit", json!({ "file_path": path, "changes": changes_of(changes) }))
        }
        Subject::Tool { name, input } => (name.as_str(), input.clone()),
        Subject::Plan { plan } => ("ExitPlanMode", json!({ "plan": cut(plan) })),
        Subject::Permissions { permissions } => ("permissions", json!({ "permissions": permissions })),
    };
    // The input of a tool is the agent's own.
    let is_own = matches!(subject, Subject::Tool { .. } | Subject::Plan { .. });
    if let Value::Object(input) = &mut input
        && !is_own
    {
        input.retain(|_, value| !value.is_null());
        input.insert("reason".to_owned(), reason.into());
    }
    (name.to_owned(), input)
}

/// The input of a question's card.
pub(super) fn question_input(request: &QuestionRequest, text: &str) -> Value {
    let questions: Vec<Value> = keys_of(request, text)
        .into_iter()
        .zip(&request.fields)
        .map(|(key, field)| {
            let options: Vec<Value> = match field.kind {
                FieldKind::Boolean => YES_NO.map(|word| json!({ "label": word, "description": "" })).into(),
                FieldKind::Text | FieldKind::Number | FieldKind::Integer | FieldKind::One | FieldKind::Many => {
                    let choice = |choice: &longshore_model::approval::Choice| {
                        json!({ "label": choice.label, "description": choice.description })
                    };
                    field.choices.iter().map(choice).collect()
                }
            };
            json!({
                "question": key,
                "header": field.label,
                "options": options,
                "multiSelect": field.kind == FieldKind::Many,
            })
        })
        .collect();
    json!({ "questions": questions })
}

/// The texts of the questions, under which the app answers: each is there once.
fn keys_of(request: &QuestionRequest, text: &str) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for field in &request.fields {
        let words = [&field.text, &field.label, &field.id];
        let mut key = words.into_iter().find(|words| !words.trim().is_empty()).cloned().unwrap_or_default();
        if request.fields.len() == 1 && field.text.trim().is_empty() && !text.is_empty() {
            key = text.to_owned();
        }
        while keys.contains(&key) {
            key.push_str(&format!(" ({})", field.label));
        }
        keys.push(key);
    }
    keys
}

/// The answers to a question, from the input that the app sent back. What is not of the field's kind stays as it is: the
/// session says what is wrong with it.
pub(in crate::mobile) fn answers_of(
    request: &QuestionRequest,
    text: &str,
    updated_input: Option<&Value>,
) -> BTreeMap<String, Value> {
    let Some(given) = updated_input.and_then(|input| input.get("answers")?.as_object()) else {
        return BTreeMap::new();
    };
    let keys = keys_of(request, text);
    let fields = request.fields.iter().zip(&keys);
    fields.filter_map(|(field, key)| Some((field.id.clone(), answer_of(field, given.get(key)?)))).collect()
}

fn answer_of(field: &Field, given: &Value) -> Value {
    let Value::String(text) = given else { return given.clone() };
    match field.kind {
        FieldKind::Text | FieldKind::One => given.clone(),
        FieldKind::Boolean => match YES_NO.iter().position(|word| word.eq_ignore_ascii_case(text.trim())) {
            Some(at) => Value::Bool(at == 0),
            None => given.clone(),
        },
        FieldKind::Integer => text.trim().parse::<i64>().map_or_else(|_| given.clone(), Value::from),
        FieldKind::Number => text.trim().parse::<f64>().map_or_else(|_| given.clone(), Value::from),
        FieldKind::Many => several(field, text),
    }
}

/// The choices of a list that the app wrote with commas. The label of a choice may have commas too.
fn several(field: &Field, text: &str) -> Value {
    let mut rest = text.trim();
    let mut chosen: Vec<Value> = Vec::new();
    while !rest.is_empty() {
        let fits = |label: &&str| {
            rest.strip_prefix(label).is_some_and(|after| after.is_empty() || after.starts_with(", "))
        };
        let label = field
            .choices
            .iter()
            .map(|choice| choice.label.as_str())
            .filter(fits)
            .max_by_key(|label| label.len());
        let label = label.unwrap_or_else(|| rest.split(", ").next().unwrap_or(rest));
        chosen.push(label.into());
        rest = rest[label.len()..].trim_start_matches(", ");
        if label.is_empty() {
            break;
        }
    }
    Value::Array(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(fields: Value) -> QuestionRequest {
        let question = QuestionId::of_words(&["q"]);
        QuestionRequest { question, source: None, fields: serde_json::from_value(fields).unwrap() }
    }

    #[test]
    fn answers_come_back_under_the_texts_of_the_questions() {
        let request = request(json!([
            { "id": "db", "label": "Database", "text": "Which?", "kind": "one", "choices": [{ "label": "SQLite" }] },
            { "id": "port", "label": "Port", "text": "Which?", "kind": "integer" },
            { "id": "tags", "label": "Tags", "text": "Which tags?", "kind": "many",
              "choices": [{ "label": "a, b" }, { "label": "c" }] },
            { "id": "sure", "label": "Sure", "text": "", "kind": "boolean" },
        ]));
        let input = question_input(&request, "");
        let keys: Vec<&str> =
            input["questions"].as_array().unwrap().iter().map(|q| q["question"].as_str().unwrap()).collect();
        assert_eq!(keys, ["Which?", "Which? (Port)", "Which tags?", "Sure"]);
        assert_eq!(input["questions"][2]["multiSelect"], true);
        assert_eq!(input["questions"][3]["options"][1]["label"], "No");
        let sent = json!({ "questions": [], "answers": {
            "Which?": "SQLite", "Which? (Port)": "80", "Which tags?": "a, b, c, other", "Sure": "Yes", "x": "y",
        } });
        let answers = answers_of(&request, "", Some(&sent));
        let expected = json!({ "db": "SQLite", "port": 80, "tags": ["a, b", "c", "other"], "sure": true });
        assert_eq!(json!(answers), expected);
        assert!(answers_of(&request, "", None).is_empty());
        assert!(answers_of(&request, "", Some(&json!({ "answers": "x" }))).is_empty());
    }

    #[test]
    fn the_words_of_the_app_differ_by_agent() {
        let command = Subject::Command { command: "make".to_owned(), cwd: None, always: Vec::new() };
        let (name, input) = asked("codex", &command, "");
        assert_eq!(
            (name.as_str(), input),
            ("command_execution", json!({ "command": "make", "args": [], "reason": "" }))
        );
        let (name, input) = asked("claude", &command, "to build");
        assert_eq!((name.as_str(), input), ("Bash", json!({ "command": "make", "reason": "to build" })));
    }
}
