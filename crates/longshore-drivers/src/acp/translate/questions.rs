//! Questions of the agent.

use longshore_model::approval::{AnswerAction, QuestionAnswer, QuestionRequest};
use longshore_model::event::{Body, Draft};
use longshore_model::id::QuestionId;
use serde_json::json;
use serde_json::value::RawValue;

use super::requests::{AcpRequest, AcpRequestKind, reply};
use super::{Acp, WireError};
use crate::acp::wire::{Elicitation, RpcId};
use crate::kit::Scribe;
use crate::kit::schema_form::fields_of;

impl Acp {
    /// `elicitation/create`: a form, or a URL to visit.
    pub(super) fn elicits(
        &mut self,
        id: &RpcId,
        native: &str,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let asked: Elicitation = serde_json::from_str(params.get())?;
        let Some(conversation) = self.conversations.get(native) else { return Ok(()) };
        let question = QuestionId::mint(&mut scribe.cx);
        let text = match &asked.url {
            Some(url) => format!("{}\n{url}", asked.message),
            None => asked.message,
        };
        let fields = fields_of(&asked.requested_schema);
        let request = QuestionRequest { question, source: None, fields };
        let turn = conversation.turn_id();
        scribe.say(conversation.session, Draft::new(Body::QuestionAsked(request)).turn(turn).text(text));
        let what = AcpRequestKind::Form { question, elicitation: asked.elicitation_id };
        self.requests.add(id.clone(), AcpRequest { session: conversation.session, turn, what });
        Ok(())
    }

    /// Handles an answer. Ignores it if the question is gone.
    pub(super) fn answer(&mut self, question: QuestionId, answer: &QuestionAnswer, scribe: &mut Scribe<'_>) {
        let Some((id, _)) = self.requests.question(question) else { return };
        let result = match answer.action {
            AnswerAction::Accept => json!({"action": "accept", "content": answer.answers}),
            AnswerAction::Decline => json!({"action": "decline"}),
            AnswerAction::Cancel => json!({"action": "cancel"}),
        };
        reply(&id, result, scribe);
    }
}
