//! Which sessions a list shows, and where its next page begins: the same for every backend.

use longshore_model::id::SessionId;
use longshore_model::info::{Activity, SessionInfo, Status};
use longshore_model::time::Timestamp;

use crate::LogError;

/// How many sessions a page has at most, whatever was asked for.
pub const LARGEST_PAGE: usize = 1_000;

/// Which sessions to show. What is `None` does not matter.
#[derive(Clone, Debug)]
pub struct SessionFilter {
    /// Only with this status.
    pub status: Option<Status>,
    /// Only with this agent.
    pub agent: Option<String>,
    /// Only where this stands in title, preview, project or folder; case does not matter.
    pub q: Option<String>,
    /// Only those put away or closed, or only the others.
    pub archived: Option<bool>,
    /// How many at most: 50 unless told, never more than [`LARGEST_PAGE`].
    pub limit: usize,
    /// Where the page begins: [`SessionPage::next`] of the page before.
    pub cursor: Option<String>,
}

impl Default for SessionFilter {
    fn default() -> Self {
        Self { status: None, agent: None, q: None, archived: None, limit: 50, cursor: None }
    }
}

impl SessionFilter {
    pub(crate) fn page_size(&self) -> usize {
        self.limit.clamp(1, LARGEST_PAGE)
    }

    pub(crate) fn begins_after(&self) -> Result<Option<Position>, LogError> {
        self.cursor.as_deref().map(Position::parse).transpose()
    }

    /// The needle, as it is looked for in a [`haystack`].
    pub(crate) fn needle(&self) -> Option<String> {
        self.q.as_deref().map(|q| q.trim().to_lowercase()).filter(|q| !q.is_empty())
    }
}

/// A page of sessions, the one that changed last first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// The cursor of the next page; none when this is the last one.
    pub next: Option<String>,
}

impl SessionPage {
    /// Cuts a page out of one session more than it holds; that one tells whether there is a next page.
    pub(crate) fn of(mut sessions: Vec<SessionInfo>, size: usize) -> Self {
        let more = sessions.len() > size;
        sessions.truncate(size);
        let next = sessions.last().filter(|_| more).map(|last| Position::of(last).to_cursor());
        Self { sessions, next }
    }
}

/// The place of a session in the list. A session that changes moves to the front, so that a reader of many pages
/// may meet it twice but misses none that stayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) updated_at: Timestamp,
    pub(crate) id: SessionId,
}

impl Position {
    pub(crate) fn of(info: &SessionInfo) -> Self {
        Self { updated_at: info.updated_at, id: info.session_id }
    }

    /// What lists are sorted by: the newest first, then by id.
    pub(crate) fn key(self) -> (std::cmp::Reverse<Timestamp>, SessionId) {
        (std::cmp::Reverse(self.updated_at), self.id)
    }

    fn to_cursor(self) -> String {
        format!("{}_{}", self.updated_at.micros(), self.id.0.simple())
    }

    fn parse(cursor: &str) -> Result<Self, LogError> {
        let read = || {
            let (micros, id) = cursor.split_once('_')?;
            Some(Self {
                updated_at: Timestamp::from_micros(micros.parse().ok()?),
                id: id.parse::<SessionId>().ok()?,
            })
        };
        read().ok_or_else(|| LogError::BadCursor { cursor: cursor.chars().take(80).collect() })
    }
}

/// What a list's `q` looks into: in lower case, a line each.
pub(crate) fn haystack(info: &SessionInfo) -> String {
    let fields = [Some(&info.title), info.preview.as_ref(), info.project.as_ref(), Some(&info.cwd)];
    fields.into_iter().flatten().map(|field| field.to_lowercase()).collect::<Vec<_>>().join("\n")
}

/// Whether an agent ran or something waited when this row was written.
pub(crate) fn is_unfinished(info: &SessionInfo) -> bool {
    let awake = match info.activity {
        Activity::Starting | Activity::Working | Activity::Waiting | Activity::Idle => true,
        Activity::Sleeping | Activity::Closed => false,
    };
    awake || !info.approvals.is_empty() || !info.questions.is_empty() || !info.queue.is_empty()
}

/// Whether a restart of the hub cut a turn of this session, and nobody has dealt with it.
pub(crate) fn is_cut(info: &SessionInfo) -> bool {
    info.cut_by_restart && !info.archived && info.activity != Activity::Closed
}

/// Whether it is in the archive: put away, or closed.
pub(crate) fn is_put_away(info: &SessionInfo) -> bool {
    info.archived || info.status == Status::Completed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is_one() {
        let position = Position {
            updated_at: Timestamp::from_micros(1_794_768_302_468_123),
            id: "0190c0de-0000-7000-8000-000000000001".parse().unwrap(),
        };
        assert_eq!(Position::parse(&position.to_cursor()).unwrap(), position);
        for bad in ["", "_", "12", "12_", "x_0190c0de000070008000000000000001", "1_1_1", "é_é"] {
            assert!(matches!(Position::parse(bad), Err(LogError::BadCursor { .. })), "{bad}");
        }
    }
}
