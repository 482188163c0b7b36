//! Questions of Codex, and of MCP servers through Codex.

use longshore_model::approval::{AnswerAction, Choice, Field, FieldKind, QuestionAnswer, QuestionRequest};
use longshore_model::event::{Body, Draft};
use longshore_model::id::QuestionId;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::requests::{Asker, CodexRequestKind, reply};
use super::{Codex, WireError};
use crate::codex::wire::{Elicitation, Question, RpcId, UserInputAsked};
use crate::kit::Scribe;
use crate::kit::schema_form::{fields_of, only_text};

impl Codex {
    /// `item/tool/requestUserInput`: the agent itself asks.
    pub(super) fn asks_user(
        &mut self,
        id: &RpcId,
        params: &RawValue,
        asker: Asker,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let asked: UserInputAsked = serde_json::from_str(params.get())?;
        let question = QuestionId::mint(&mut scribe.cx);
        let fields: Vec<Field> = asked.questions.into_iter().map(field_of).collect();
        let text = only_text(&fields);
        let request = QuestionRequest { question, source: None, fields };
        let mut draft = Draft::new(Body::QuestionAsked(request)).turn(asker.turn_name);
        draft.text = text;
        scribe.quote(asker.session, draft);
        self.requests.add(id.clone(), asker.request(CodexRequestKind::UserInput { question }));
        Ok(())
    }

    /// `mcpServer/elicitation/request`: an MCP server asks, or Codex asks whether it may call a server's
    /// tool.
    pub(super) fn elicits(
        &mut self,
        id: &RpcId,
        params: &RawValue,
        asker: Asker,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let mut asked: Elicitation = serde_json::from_str(params.get())?;
        if let Some(meta) = asked.meta.take().filter(|meta| meta.codex_approval_kind.is_some()) {
            self.may_call_tool(id, asked, meta, asker, scribe);
            return Ok(());
        }
        let question = QuestionId::mint(&mut scribe.cx);
        let text = match asked.url {
            Some(url) => format!("{}\n{url}", asked.message),
            None => asked.message,
        };
        let fields = fields_of(&asked.requested_schema);
        let request = QuestionRequest { question, source: Some(asked.server_name), fields };
        let draft = Draft::new(Body::QuestionAsked(request)).turn(asker.turn_name).text(text);
        scribe.quote(asker.session, draft);
        self.requests.add(id.clone(), asker.request(CodexRequestKind::Form { question }));
        Ok(())
    }

    /// Handles an answer. Ignores it if the question is gone.
    pub(super) fn answer(&mut self, question: QuestionId, answer: &QuestionAnswer, scribe: &mut Scribe<'_>) {
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
        reply(&id, result, scribe);
    }
}

/// An answer as a list of texts. Codex requires this form.
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
