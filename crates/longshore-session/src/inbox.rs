//! The inbox: everything that waits for a person, in all sessions, oldest first.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use longshore_log::WithRaw;
use longshore_model::command::{Command, Refusal};
use longshore_model::event::Author;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::{OpenApproval, OpenQuestion, SessionInfo};
use longshore_model::time::Timestamp;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::info;
use uuid::Uuid;

use crate::error::HubError;
use crate::hub::Hub;

/// The size up to which the inbox contains complete approvals and questions. Of the rest it contains the
/// beginning and the end, as rows do. Each session has them complete.
const WHOLE_BYTES: usize = 8 << 20;
/// How many events the hub reads at once to find the end of an approval or question.
const PAGE: usize = 4_096;
/// How many sessions are resumed at the same time.
const RESUMED_AT_ONCE: usize = 16;
/// How long a caller that resumes all sessions waits for the last one.
const RESUMED_WITHIN: Duration = Duration::from_secs(5);

/// Everything that waits for a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbox {
    /// The approvals.
    pub approvals: Vec<OpenApproval>,
    /// The questions.
    pub questions: Vec<OpenQuestion>,
    /// Sessions in which a restart of the hub cut a turn. A person can resume them.
    pub interrupted: Vec<SessionInfo>,
    /// Sessions that hold prompts. A person can send these prompts on. Interrupted sessions are not repeated
    /// here, because a resume sends their prompts on, too.
    pub held: Vec<SessionInfo>,
}

/// The result of resuming all sessions in which a restart of the hub cut a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumedAll {
    /// The sessions that continue.
    pub resumed: Vec<SessionId>,
    /// The sessions that will continue as soon as their agents have reported the turns from their own
    /// terminals.
    pub resuming: Vec<SessionId>,
}

impl Hub {
    /// Everything that waits for a person.
    pub async fn inbox(&self) -> Result<Inbox, HubError> {
        self.until_recovered().await;
        let mut inbox = Inbox::default();
        let mut room = WHOLE_BYTES;
        let mut rows = self.inner.catalog.unfinished().await?;
        let holds = |row: &&SessionInfo| row.queue_held && !row.archived && !row.cut_by_restart;
        inbox.held = rows.iter().filter(holds).cloned().collect();
        rows.retain(|row| !row.approvals.is_empty() || !row.questions.is_empty());
        // The oldest ask comes first, and so is the first to get room.
        rows.sort_by_key(waits_since);
        for mut row in rows {
            // A person must see completely what to decide on; rows shorten it.
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
        inbox.interrupted = self.inner.catalog.cut().await?;
        inbox.held.sort_by_key(|row| Reverse(row.updated_at));
        inbox.approvals.sort_by_key(|open| open.requested_at);
        inbox.questions.sort_by_key(|open| open.asked_at);
        Ok(inbox)
    }

    /// Resumes every session in which a restart of the hub cut a turn, all at once. An agent that is slow to
    /// report the turns from its own terminal delays no other agent, and does not delay the caller.
    pub async fn resume_all(&self, by: Author) -> Result<ResumedAll, HubError> {
        self.until_recovered().await;
        let mut told = ResumedAll::default();
        told.resuming.extend(self.inner.catalog.cut().await?.iter().map(|info| info.session_id));
        let room = Arc::new(Semaphore::new(RESUMED_AT_ONCE));
        let mut resumptions = JoinSet::new();
        for session in told.resuming.clone() {
            let (hub, by, room) = (self.clone(), by.clone(), Arc::clone(&room));
            resumptions.spawn(async move {
                let _place = room.acquire().await;
                (session, hub.command(session, Command::Resume, by).await)
            });
        }
        let until = Instant::now() + RESUMED_WITHIN;
        while let Ok(Some(done)) = timeout_at(until, resumptions.join_next()).await {
            let Ok((session, done)) = done else { continue };
            told.resuming.retain(|resuming| *resuming != session);
            match done {
                Ok(_) => told.resumed.push(session),
                // Another client was first, or the session cannot continue. The other sessions can.
                Err(error) => info!(%session, %error, "not resumed"),
            }
        }
        // The resumptions continue without a caller. A caller that is cancelled before this point leaves
        // nothing behind.
        resumptions.detach_all();
        Ok(told)
    }

    /// The session that asked this approval or question.
    pub async fn asker(&self, ask: Uuid) -> Result<SessionId, HubError> {
        self.inner.catalog.session_of(ask).await?.ok_or(HubError::UnknownAsk)
    }

    /// Tells a client how an approval or question ended, if it ended so long ago that its session no longer
    /// holds it. The log still has it.
    pub(crate) async fn end_of(
        &self,
        session: SessionId,
        ask: Option<Uuid>,
    ) -> Result<Option<Refusal>, HubError> {
        let Some(ask) = ask else { return Ok(None) };
        if self.inner.catalog.session_of(ask).await? != Some(session) {
            return Ok(None);
        }
        let mut cursor = Seq::ZERO;
        loop {
            let page = self.inner.journal.read(session, cursor, PAGE, WithRaw::No).await?;
            let Some(last) = page.last() else { return Ok(None) };
            cursor = last.seq();
            for frame in &page {
                let seq = frame.seq();
                let event = frame.event().map_err(|source| HubError::Unreadable { seq, source })?;
                if let Some((_, refusal)) = Refusal::of_ended(event).filter(|(ended, _)| *ended == ask) {
                    return Ok(Some(refusal));
                }
            }
        }
    }
}

fn waits_since(row: &SessionInfo) -> Option<Timestamp> {
    let approvals = row.approvals.iter().map(|open| open.requested_at);
    approvals.chain(row.questions.iter().map(|open| open.asked_at)).min()
}

/// The asks that wait now: complete as far as there is room, then shortened as in the row.
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
            // An ask that is newer than the row has no shortened form.
            (Some(cut), bytes) if bytes > *room => brief.push(cut),
            (_, bytes) => {
                *room = room.saturating_sub(bytes);
                brief.push(ask);
            }
        }
    }
}
