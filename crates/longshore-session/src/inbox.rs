//! The inbox: everything that waits for a person, over all sessions, oldest first.

use longshore_model::approval::{AnswerAction, Decision};
use longshore_model::command::{Command, Reply};
use longshore_model::event::Actor as By;
use longshore_model::id::{ApprovalId, QuestionId, SessionId};
use longshore_model::info::{OpenApproval, OpenQuestion};
use serde_json::Value;

use crate::error::HubError;
use crate::hub::Hub;

/// Everything that waits for a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbox {
    /// For a yes or a no.
    pub approvals: Vec<OpenApproval>,
    /// For data.
    pub questions: Vec<OpenQuestion>,
}

impl Hub {
    /// Everything that waits for a person.
    pub async fn inbox(&self) -> Result<Inbox, HubError> {
        let mut inbox = Inbox::default();
        for info in self.inner.log.unfinished().await? {
            inbox.approvals.extend(info.approvals);
            inbox.questions.extend(info.questions);
        }
        inbox.approvals.sort_by_key(|open| open.requested_at);
        inbox.questions.sort_by_key(|open| open.asked_at);
        Ok(inbox)
    }

    /// Answers an approval, whichever session it belongs to.
    pub async fn decide(
        &self,
        approval: ApprovalId,
        decision: Decision,
        message: Option<String>,
        input: Option<Value>,
        by: By,
    ) -> Result<Reply, HubError> {
        let session = self.asking(approval.0).await?;
        self.command(session, Command::Decide { approval, decision, message, input }, by).await
    }

    /// Answers a question, whichever session it belongs to.
    pub async fn answer(
        &self,
        question: QuestionId,
        action: AnswerAction,
        answers: std::collections::BTreeMap<String, Value>,
        by: By,
    ) -> Result<Reply, HubError> {
        let session = self.asking(question.0).await?;
        self.command(session, Command::Answer { question, action, answers }, by).await
    }

    async fn asking(&self, ask: uuid::Uuid) -> Result<SessionId, HubError> {
        self.inner.log.session_of(ask).await?.ok_or(HubError::UnknownAsk)
    }
}
