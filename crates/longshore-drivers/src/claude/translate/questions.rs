//! Questions: the tool `AskUserQuestion`. Claude requests permission for the call, and the allowance contains
//! the answers.

use longshore_model::approval::{AnswerAction, Choice, Field, FieldKind, QuestionAnswer, QuestionRequest};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Context, QuestionId};
use serde_json::{Map, Value, json};

use super::Claude;
use super::approvals::{record, reply};
use crate::claude::wire::{Question, Questions, Request};
use crate::kit::Scribe;
use crate::kit::schema_form::only_text;

/// The question in a request.
pub(super) fn asked(request: &Request, cx: &mut Context<'_>) -> (QuestionId, Draft) {
    let asked: Questions = serde_json::from_value(request.input.clone()).unwrap_or_default();
    let question = QuestionId::mint(cx);
    let fields: Vec<Field> = asked.questions.into_iter().map(field_of).collect();
    let text = only_text(&fields);
    let request = QuestionRequest { question, source: None, fields };
    let mut draft = Draft::new(Body::QuestionAsked(request));
    draft.text = text;
    (question, draft)
}

impl Claude {
    /// Handles an answer. Ignores it if the question is gone.
    pub(super) fn answer(&mut self, question: QuestionId, answer: &QuestionAnswer, scribe: &mut Scribe<'_>) {
        let Some((id, ask)) = self.requests.take_question(question) else { return };
        let response = match answer.action {
            AnswerAction::Accept => {
                let answers: Map<String, Value> = answer
                    .answers
                    .iter()
                    .map(|(field, value)| (field.clone(), json!(words_of(value))))
                    .collect();
                let mut input = record(&ask.input);
                input["answers"] = Value::Object(answers);
                json!({"behavior": "allow", "updatedInput": input})
            }
            AnswerAction::Decline => {
                json!({"behavior": "deny", "message": "The user did not want to answer."})
            }
            AnswerAction::Cancel => {
                json!({"behavior": "deny", "message": "The user waved the question away."})
            }
        };
        reply(&id, response, scribe);
    }
}

/// A field for a question. Claude finds the answer by the text of the question, and always accepts other
/// answers than the offered ones.
fn field_of(question: Question) -> Field {
    let choices: Vec<Choice> = question
        .options
        .into_iter()
        .map(|option| Choice { label: option.label, description: option.description })
        .collect();
    Field {
        id: question.question.clone(),
        label: question.header,
        text: question.question,
        kind: match (choices.is_empty(), question.multi_select) {
            (true, _) => FieldKind::Text,
            (false, true) => FieldKind::Many,
            (false, false) => FieldKind::One,
        },
        open: !choices.is_empty(),
        choices,
        secret: false,
        optional: false,
    }
}

/// An answer as one text. Claude requires this form.
fn words_of(value: &Value) -> String {
    match value {
        Value::Array(values) => values.iter().map(words_of).collect::<Vec<_>>().join(", "),
        Value::String(word) => word.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
