//! The inbox: everything that waits for a person, over all sessions, oldest first.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use longshore_model::approval::{AnswerAction, Decision};
use longshore_model::command::{Command, Reply};
use longshore_model::event::Author;
use longshore_model::id::{ApprovalId, QuestionId, SessionId};
use longshore_model::info::{OpenApproval, OpenQuestion, SessionInfo};
use longshore_model::time::Timestamp;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::info;

use crate::error::HubError;
use crate::hub::Hub;

/// How many bytes of asks are told whole. Of what else waits beginning and end are told, as in rows: each session has it whole.
const WHOLE_BYTES: usize = 8 << 20;
/// How many sessions are resumed at the same time.
const RESUMED_AT_ONCE: usize = 16;
/// How long whoever resumes all of them waits for the last one.
const RESUMED_WITHIN: Duration = Duration::from_secs(5);

/// Everything that waits for a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbox {
    /// For a yes or a no.
    pub approvals: Vec<OpenApproval>,
    /// For data.
    pub questions: Vec<OpenQuestion>,
    /// Sessions of which a restart of the hub cut a turn: for somebody to resume them.
    pub interrupted: Vec<SessionInfo>,
    /// Sessions in which prompts are held: for somebody to send them on. Those that were interrupted are not told twice: a
    /// resume sends on what they hold.
    pub held: Vec<SessionInfo>,
}

/// What became of the sessions of which a restart of the hub cut a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumedAll {
    /// These go on.
    pub resumed: Vec<SessionId>,
    /// And these will, once their agents have told what was said in their own terminals.
    pub resuming: Vec<SessionId>,
}

impl Hub {
    /// Everything that waits for a person.
    pub async fn inbox(&self) -> Result<Inbox, HubError> {
        self.until_recovered().await;
        let mut inbox = Inbox::default();
        let mut room = WHOLE_BYTES;
        let mut rows = self.inner.log.unfinished().await?;
        let holds = |row: &&SessionInfo| row.queue_held && !row.archived && !row.cut_by_restart;
        inbox.held = rows.iter().filter(holds).cloned().collect();
        rows.retain(|row| !row.approvals.is_empty() || !row.questions.is_empty());
        // Whoever has waited longest comes first, also to the room that there is.
        rows.sort_by_key(waits_since);
        for mut row in rows {
            // What a person decides on is whole; rows cut it.
            if room > 0
                && let Ok(whole) = self.session(row.session_id).await
            {
                fit(&mut row.approvals, whole.approvals, &mut room, OpenApproval::bytes, |a, b| {
                    a.request.approval == b.request.approval
                });
                fit(&mut row.questions, whole.questions, &mut room, OpenQuestion::bytes, |a, b| {
                    a.request.question == b.request.question
                });
            }
            inbox.approvals.extend(row.approvals);
            inbox.questions.extend(row.questions);
        }
        inbox.interrupted = self.inner.log.cut().await?;
        inbox.held.sort_by_key(|row| Reverse(row.updated_at));
        inbox.approvals.sort_by_key(|open| open.requested_at);
        inbox.questions.sort_by_key(|open| open.asked_at);
        Ok(inbox)
    }

    /// Resumes every session of which a restart of the hub cut a turn, all at once: an agent that is slow to be asked what was said
    /// in its own terminal holds up no other, nor whoever waits for the answer.
    pub async fn resume_all(&self, by: Author) -> Result<ResumedAll, HubError> {
        self.until_recovered().await;
        let mut told = ResumedAll::default();
        told.resuming.extend(self.inner.log.cut().await?.iter().map(|info| info.session_id));
        let room = Arc::new(Semaphore::new(RESUMED_AT_ONCE));
        let mut wishes = JoinSet::new();
        for session in told.resuming.clone() {
            let (hub, by, room) = (self.clone(), by.clone(), Arc::clone(&room));
            wishes.spawn(async move {
                let _place = room.acquire().await;
                (session, hub.command(session, Command::Resume, by).await)
            });
        }
        let until = Instant::now() + RESUMED_WITHIN;
        while let Ok(Some(done)) = timeout_at(until, wishes.join_next()).await {
            let Ok((session, done)) = done else { continue };
            told.resuming.retain(|resuming| *resuming != session);
            match done {
                Ok(_) => told.resumed.push(session),
                // Somebody was first, or it cannot go on; the others can.
                Err(error) => info!(%session, %error, "not resumed"),
            }
        }
        // They go on without anybody who waits. Whoever is put out before takes their wish along.
        wishes.detach_all();
        Ok(told)
    }

    /// Answers an approval, whichever session it belongs to.
    pub async fn decide(
        &self,
        approval: ApprovalId,
        decision: Decision,
        message: Option<String>,
        input: Option<Value>,
        by: Author,
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
        by: Author,
    ) -> Result<Reply, HubError> {
        let session = self.asking(question.0).await?;
        self.command(session, Command::Answer { question, action, answers }, by).await
    }

    async fn asking(&self, ask: uuid::Uuid) -> Result<SessionId, HubError> {
        self.inner.log.session_of(ask).await?.ok_or(HubError::UnknownAsk)
    }
}

fn waits_since(row: &SessionInfo) -> Option<Timestamp> {
    let approvals = row.approvals.iter().map(|open| open.requested_at);
    approvals.chain(row.questions.iter().map(|open| open.asked_at)).min()
}

/// What waits now, whole as far as there is room, and cut as the row has it where there is not.
fn fit<T>(
    brief: &mut Vec<T>,
    whole: Vec<T>,
    room: &mut usize,
    bytes: impl Fn(&T) -> usize,
    same: impl Fn(&T, &T) -> bool,
) {
    let mut row = std::mem::take(brief);
    for ask in whole {
        let cut = row.iter().position(|cut| same(cut, &ask)).map(|at| row.swap_remove(at));
        match (cut, bytes(&ask)) {
            // What was asked since the row was written has no other form.
            (Some(cut), bytes) if bytes > *room => brief.push(cut),
            (_, bytes) => {
                *room = room.saturating_sub(bytes);
                brief.push(ask);
            }
        }
    }
}
