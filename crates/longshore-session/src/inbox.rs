//! The inbox: everything that waits for a person, over all sessions, oldest first.

use longshore_model::approval::{AnswerAction, Decision};
use longshore_model::command::{Command, Reply};
use longshore_model::event::Actor as By;
use longshore_model::id::{ApprovalId, QuestionId, SessionId};
use longshore_model::info::{OpenApproval, OpenQuestion, SessionInfo};
use serde_json::Value;
use tracing::info;

use crate::error::HubError;
use crate::hub::Hub;

/// Everything that waits for a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbox {
    /// For a yes or a no.
    pub approvals: Vec<OpenApproval>,
    /// For data.
    pub questions: Vec<OpenQuestion>,
    /// Sessions of which a restart of the hub cut a turn: for somebody to resume them.
    pub interrupted: Vec<SessionInfo>,
}

impl Hub {
    /// Everything that waits for a person.
    pub async fn inbox(&self) -> Result<Inbox, HubError> {
        let mut inbox = Inbox::default();
        for row in self.inner.log.unfinished().await? {
            if row.approvals.is_empty() && row.questions.is_empty() {
                continue;
            }
            // What a person decides on is whole; rows cut it.
            let info = match self.session(row.session_id).await {
                Ok(info) => info,
                Err(_) => row,
            };
            inbox.approvals.extend(info.approvals);
            inbox.questions.extend(info.questions);
        }
        inbox.interrupted = self.inner.log.cut().await?;
        inbox.approvals.sort_by_key(|open| open.requested_at);
        inbox.questions.sort_by_key(|open| open.asked_at);
        Ok(inbox)
    }

    /// Resumes every session of which a restart of the hub cut a turn: which ones went on.
    pub async fn resume_all(&self, by: By) -> Result<Vec<SessionId>, HubError> {
        let mut resumed = Vec::new();
        for info in self.inner.log.cut().await? {
            match self.command(info.session_id, Command::Resume, by.clone()).await {
                Ok(_) => resumed.push(info.session_id),
                // Somebody was first, or it cannot go on; the others can.
                Err(error) => info!(session = %info.session_id, %error, "not resumed"),
            }
        }
        Ok(resumed)
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
