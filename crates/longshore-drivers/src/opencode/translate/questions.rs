//! What OpenCode wants to know.

use longshore_model::approval::{AnswerAction, Choice, Field, FieldKind, QuestionAnswer, QuestionRequest};
use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{Context, QuestionId};
use serde_json::{Value, json};

use super::OpenCode;
use super::calls::{OpenCodeCall, OutgoingRequest};
use super::waiting::{PendingAnswer, Waits};
use crate::opencode::wire::{Asked, Question, Replied};
use crate::schema_form::only_text;

/// What waits for an answer, and how many things each asks.
pub(super) type Questions = Waits<QuestionId, usize>;

impl OpenCode {
    pub(super) fn asks_user(
        &mut self,
        asked: Asked,
        raw: Option<&Raw>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let Some(conversation) = self.conversations.get(&asked.session_id) else { return };
        if self.questions.knows(&asked.id) {
            return;
        }
        let question = QuestionId::mint(cx);
        let (session, turn, count) = (conversation.session, conversation.turn_id(), asked.questions.len());
        let fields: Vec<Field> =
            asked.questions.into_iter().enumerate().map(|(at, one)| field_of(at, one)).collect();
        let text = only_text(&fields);
        let request = QuestionRequest { question, source: None, fields };
        let mut draft = Draft::new(Body::QuestionAsked(request)).turn(turn);
        draft.text = text;
        out.say(session, draft.raw(raw.cloned()));
        let waiting = PendingAnswer { id: asked.id, native: asked.session_id, session, turn, about: count };
        self.questions.0.insert(question, waiting);
    }

    /// Somebody answered. A question that is gone by now is left alone.
    pub(super) fn answer(&mut self, question: QuestionId, answer: &QuestionAnswer, out: &mut Output) {
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
            // Rejected it would stop the turn; an answer without a word lets it go on.
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
        self.calls.send(ask, OpenCodeCall::Reply, out);
    }

    /// OpenCode says that it has an answer, or needs none. One that is not ours means that nobody needs to answer.
    pub(super) fn question_settled(&mut self, replied: &Replied, raw: &Raw, out: &mut Output) {
        self.question_withdrawn(&replied.request_id, Some(raw), out);
    }

    pub(super) fn question_withdrawn(&mut self, id: &str, raw: Option<&Raw>, out: &mut Output) {
        if let Some((question, waiting)) = self.questions.take(id) {
            let draft = Draft::new(Body::QuestionExpired { question }).turn(waiting.turn);
            out.say(waiting.session, draft.text("OpenCode no longer waits for it").raw(raw.cloned()));
        }
    }
}

/// The key of an answer: its place.
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

/// An answer as they want it: a list of labels.
fn labels(answer: Option<&Value>) -> Value {
    match answer {
        Some(Value::Array(labels)) => Value::from(labels.clone()),
        Some(Value::Null) | None => json!([]),
        Some(label) => json!([label]),
    }
}
