//! Lists of sessions: the filter and the pages, the same for every backend.

use longshore_model::id::SessionId;
use longshore_model::info::{Activity, SessionInfo, Status};
use longshore_model::time::Timestamp;

use crate::LogError;

/// The most sessions of a page, whatever the caller asks for.
pub const LARGEST_PAGE: usize = 1_000;

/// Which sessions to list. `None` means any.
#[derive(Clone, Debug)]
pub struct SessionFilter {
    /// Only with this status.
    pub status: Option<Status>,
    /// Only sessions of this agent.
    pub agent: Option<String>,
    /// Only sessions with this text in title, preview, project or folder; case does not matter.
    pub q: Option<String>,
    /// Only archived and closed sessions, or only the others.
    pub archived: Option<bool>,
    /// The most sessions of the page: 50 by default, never more than [`LARGEST_PAGE`].
    pub limit: usize,
    /// Where the page begins: [`SessionPage::next`] of the previous page.
    pub cursor: Option<String>,
}

impl Default for SessionFilter {
    fn default() -> Self {
        Self { status: None, agent: None, q: None, archived: None, limit: 50, cursor: None }
    }
}

impl SessionFilter {
    /// The number of sessions on a page.
    pub fn page_size(&self) -> usize {
        self.limit.clamp(1, LARGEST_PAGE)
    }

    /// The position after which the page begins. Refuses an invalid cursor.
    pub fn begins_after(&self) -> Result<Option<Position>, LogError> {
        self.cursor.as_deref().map(Position::parse).transpose()
    }

    /// The text to look for in a [`haystack`].
    pub fn needle(&self) -> Option<String> {
        self.q.as_deref().map(|q| q.trim().to_lowercase()).filter(|q| !q.is_empty())
    }
}

/// A page of sessions, the latest changed one first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// The cursor of the next page; none if this is the last page.
    pub next: Option<String>,
}

impl SessionPage {
    /// Makes a page from one session more than it holds. That session shows whether there is a next page.
    pub fn of(mut sessions: Vec<SessionInfo>, size: usize) -> Self {
        let more = sessions.len() > size;
        sessions.truncate(size);
        let next = sessions.last().filter(|_| more).map(|last| Position::of(last).to_cursor());
        Self { sessions, next }
    }
}

/// The place of a session in the list. A session that changes moves to the front, so a reader of several
/// pages may meet it twice, but misses no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// When the session changed last.
    pub updated_at: Timestamp,
    /// The session.
    pub id: SessionId,
}

impl Position {
    /// The position of the session with this row.
    pub fn of(info: &SessionInfo) -> Self {
        Self { updated_at: info.updated_at, id: info.session_id }
    }

    /// The sort key of lists: the newest first, then by id.
    pub fn key(self) -> (std::cmp::Reverse<Timestamp>, SessionId) {
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

/// The text in which a list searches for `q`: lower case, one line per field.
pub fn haystack(info: &SessionInfo) -> String {
    let fields = [Some(&info.title), info.preview.as_ref(), info.project.as_ref(), Some(&info.cwd)];
    fields.into_iter().flatten().map(|field| field.to_lowercase()).collect::<Vec<_>>().join("\n")
}

/// Whether an agent ran or something waited when the row was written.
pub fn is_unfinished(info: &SessionInfo) -> bool {
    let awake = match info.activity {
        Activity::Starting | Activity::Working | Activity::Waiting | Activity::Idle => true,
        Activity::Sleeping | Activity::Closed => false,
    };
    awake || !info.approvals.is_empty() || !info.questions.is_empty() || !info.queue.is_empty()
}

/// Whether a restart of the hub interrupted a turn of the session, and nobody has dealt with it.
pub fn is_cut(info: &SessionInfo) -> bool {
    info.cut_by_restart && !info.archived && info.activity != Activity::Closed
}

/// Whether the session is archived or closed.
pub fn is_put_away(info: &SessionInfo) -> bool {
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
