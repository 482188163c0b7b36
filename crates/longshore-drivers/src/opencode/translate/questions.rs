//! Questions of OpenCode.

use longshore_model::approval::{AnswerAction, Choice, Field, FieldKind, QuestionAnswer, QuestionRequest};
use longshore_model::event::{Body, Draft};
use longshore_model::id::QuestionId;
use serde_json::{Value, json};

use super::OpenCode;
use super::calls::{OpenCodeCall, OutgoingRequest};
use super::pending_answers::{PendingAnswer, PendingAnswers};
use crate::kit::Scribe;
use crate::kit::schema_form::only_text;
use crate::opencode::wire::{OpenCodeQuestion, Question, Replied};

/// The open questions, with the number of fields of each.
pub(super) type Questions = PendingAnswers<QuestionId, usize>;

impl OpenCode {
    pub(super) fn asks_user(&mut self, asked: OpenCodeQuestion, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get(&asked.session_id) else { return };
        if self.questions.knows(&asked.id) {
            return;
        }
        let question = QuestionId::mint(&mut scribe.cx);
        let (session, turn, count) = (conversation.session, conversation.turn_id(), asked.questions.len());
        let fields: Vec<Field> =
            asked.questions.into_iter().enumerate().map(|(at, one)| field_of(at, one)).collect();
        let text = only_text(&fields);
        let request = QuestionRequest { question, source: None, fields };
        let mut draft = Draft::new(Body::QuestionAsked(request)).turn(turn);
        draft.text = text;
        scribe.quote(session, draft);
        let waiting = PendingAnswer { id: asked.id, native: asked.session_id, session, turn, about: count };
        self.questions.0.insert(question, waiting);
    }

    /// Handles an answer. Ignores it if the question is gone.
    pub(super) fn answer(&mut self, question: QuestionId, answer: &QuestionAnswer, scribe: &mut Scribe<'_>) {
        let Some(PendingAnswer { id, native, turn, about: count, .. }) = self.questions.0.remove(&question)
        else {
            return;
        };
        let Some(conversation) = self.conversations.get_mut(&native) else { return };
        let (word, body) = match answer.action {
            AnswerAction::Accept => {
                let answers: Value = (0..count).map(|at| labels(answer.answers.get(&key(at)))).collect();
                ("reply", json!({"answers": answers}))
            }
            // A rejection would stop the turn. An empty answer lets the turn continue.
            AnswerAction::Decline => ("reply", json!({"answers": vec![json!([]); count]})),
            AnswerAction::Cancel => {
                if let Some(running) = conversation.turn.as_mut().filter(|running| Some(running.id) == turn) {
                    running.cancelled = true;
                }
                ("reject", json!({}))
            }
        };
        let ask = OutgoingRequest::post(format!("/question/{id}/{word}"), &conversation.directory, body)
            .of(conversation.session);
        self.calls.send(ask, OpenCodeCall::Reply, scribe);
    }

    /// OpenCode reports that a question has an answer, or needs none. If the answer is not ours, nobody needs
    /// to answer any longer.
    pub(super) fn question_settled(&mut self, replied: &Replied, scribe: &mut Scribe<'_>) {
        self.question_withdrawn(&replied.request_id, scribe);
    }

    pub(super) fn question_withdrawn(&mut self, id: &str, scribe: &mut Scribe<'_>) {
        if let Some((question, waiting)) = self.questions.take(id) {
            let draft = Draft::new(Body::QuestionExpired { question }).turn(waiting.turn);
            scribe.quote(waiting.session, draft.text("OpenCode no longer waits for it"));
        }
    }
}

/// The key of an answer: the index of its field.
fn key(at: usize) -> String {
    (at + 1).to_string()
}

fn field_of(at: usize, question: Question) -> Field {
    let choices = question.options.into_iter();
    let choices: Vec<Choice> =
        choices.map(|one| Choice { label: one.label, description: one.description }).collect();
    let kind = match (choices.is_empty(), question.multiple) {
        (true, _) => FieldKind::Text,
        (false, true) => FieldKind::Many,
        (false, false) => FieldKind::One,
    };
    Field {
        id: key(at),
        label: question.header,
        text: question.question,
        kind,
        choices,
        open: question.custom != Some(false),
        secret: false,
        optional: false,
    }
}

/// An answer in OpenCode's form: a list of labels.
fn labels(answer: Option<&Value>) -> Value {
    match answer {
        Some(Value::Array(labels)) => Value::from(labels.clone()),
        Some(Value::Null) | None => json!([]),
        Some(label) => json!([label]),
    }
}
