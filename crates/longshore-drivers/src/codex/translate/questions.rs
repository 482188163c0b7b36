//! What codex, or an MCP server through it, wants to know.

use longshore_model::approval::{AnswerAction, Choice, Field, FieldKind, QuestionAnswer, QuestionRequest};
use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{Context, QuestionId};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::requests::{Asker, CodexRequestKind, reply};
use super::{Codex, WireError};
use crate::codex::wire::{Elicitation, Question, RpcId, UserInputAsked};
use crate::schema_form::{fields_of, only_text};

impl Codex {
    /// `item/tool/requestUserInput`: the agent itself asks.
    pub(super) fn asks_user(
        &mut self,
        id: &RpcId,
        params: &RawValue,
        asker: Asker,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let asked: UserInputAsked = serde_json::from_str(params.get())?;
        let question = QuestionId::mint(cx);
        let fields: Vec<Field> = asked.questions.into_iter().map(field_of).collect();
        let text = only_text(&fields);
        let request = QuestionRequest { question, source: None, fields };
        let mut draft = Draft::new(Body::QuestionAsked(request)).turn(asker.turn_name);
        draft.text = text;
        out.say(asker.session, draft.raw(raw.clone()));
        self.requests.add(id.clone(), asker.request(CodexRequestKind::UserInput { question }));
        Ok(())
    }

    /// `mcpServer/elicitation/request`: a server asks, or codex asks whether a server's tool may be called.
    pub(super) fn elicits(
        &mut self,
        id: &RpcId,
        params: &RawValue,
        asker: Asker,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let mut asked: Elicitation = serde_json::from_str(params.get())?;
        if let Some(meta) = asked.meta.take().filter(|meta| meta.codex_approval_kind.is_some()) {
            self.may_call_tool(id, asked, meta, asker, raw, cx, out);
            return Ok(());
        }
        let question = QuestionId::mint(cx);
        let text = match asked.url {
            Some(url) => format!("{}\n{url}", asked.message),
            None => asked.message,
        };
        let fields = fields_of(&asked.requested_schema);
        let request = QuestionRequest { question, source: Some(asked.server_name), fields };
        let draft = Draft::new(Body::QuestionAsked(request)).turn(asker.turn_name).text(text);
        out.say(asker.session, draft.raw(raw.clone()));
        self.requests.add(id.clone(), asker.request(CodexRequestKind::Form { question }));
        Ok(())
    }

    /// Somebody answered. A question that is gone by now is left alone.
    pub(super) fn answer(&mut self, question: QuestionId, answer: &QuestionAnswer, out: &mut Output) {
        let Some(id) = self.requests.question(question) else { return };
        let Some(request) = self.requests.take(&id) else { return };
        let accepted = answer.action == AnswerAction::Accept;
        let result = match request.what {
            CodexRequestKind::Form { .. } => {
                let action = match answer.action {
                    AnswerAction::Accept => "accept",
                    AnswerAction::Decline => "decline",
                    AnswerAction::Cancel => "cancel",
                };
                let content = if accepted { json!(answer.answers) } else { Value::Null };
                json!({"action": action, "content": content, "_meta": null})
            }
            CodexRequestKind::UserInput { .. }
            | CodexRequestKind::Command { .. }
            | CodexRequestKind::Edit { .. }
            | CodexRequestKind::Permissions { .. }
            | CodexRequestKind::McpTool { .. }
            | CodexRequestKind::OldCommand { .. }
            | CodexRequestKind::OldEdit { .. } => {
                let mut answers = Map::new();
                for (field, value) in answer.answers.iter().filter(|_| accepted) {
                    answers.insert(field.clone(), json!({"answers": words_of(value)}));
                }
                json!({"answers": answers})
            }
        };
        reply(&id, result, out);
    }
}

/// Their answers are always words.
fn words_of(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(words_of).collect(),
        Value::String(word) => vec![word.clone()],
        Value::Null => Vec::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec![value.to_string()],
    }
}

fn field_of(question: Question) -> Field {
    let choices: Vec<Choice> = question
        .options
        .into_iter()
        .map(|option| Choice { label: option.label, description: option.description })
        .collect();
    Field {
        id: question.id,
        label: question.header,
        text: question.question,
        kind: if choices.is_empty() { FieldKind::Text } else { FieldKind::One },
        open: question.is_other && !choices.is_empty(),
        choices,
        secret: question.is_secret,
        optional: false,
    }
}
