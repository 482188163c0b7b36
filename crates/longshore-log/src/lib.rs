//! Nothing lost: the durable log behind Longshore.
//!
//! The log has three stores, each behind a trait. The [`Journal`] holds the events of all sessions; the seqs
//! of each session are dense, from 1. The [`Catalog`] answers every question about sessions; a journal can
//! rebuild it. The [`Keyring`] holds devices and other small values. When [`Journal::append`] resolves, its
//! events survive a crash. Nobody may see an event earlier.
//!
//! | module | holds |
//! |---|---|
//! | [`journal`], [`catalog`], [`keyring`] | the three traits, and tools for their backends |
//! | [`stores`] | the three stores together, as a hub holds them |
//! | [`keys`] | the kinds of keys: devices, pushes, leases |
//! | [`sqlite`] | all three stores in a folder: one SQLite file, one writer, group commit |
//! | [`memory`] | all three stores in memory, for tests and `--ephemeral` |
//! | [`list`] | which sessions a list shows, and where its next page begins |
//! | [`search`] | hits, and how a person's words become a query |
//! | [`error`] | what can go wrong: one variant per action that a caller can take |

#![deny(clippy::wildcard_enum_match_arm)]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use longshore_model::event::Body;
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use uuid::Uuid;

pub mod catalog;
pub mod error;
pub mod journal;
pub mod keyring;
pub mod keys;
pub mod list;
pub mod memory;
pub mod search;
pub mod snippet;
pub mod sqlite;
pub mod stores;
#[cfg(feature = "story")]
pub mod story;
pub mod superseded;
pub mod usage;

mod clock;

pub use catalog::{Catalog, Stats};
pub use error::LogError;
pub use journal::{
    ErasedConversation, Feed, FeedCursor, FeedEntry, Journal, JournalChange, Mark, SessionHead, SessionWatch,
};
pub use keyring::{KeyEntry, KeyUpdate, KeyWatch, Keyring, Revision};
pub use list::{SessionFilter, SessionPage};
pub use memory::MemoryLog;
pub use search::Hit;
pub use sqlite::{Durability, LogSettings, SqliteLog, Unsound, quick_check};
pub use stores::Stores;

/// The future that every call returns. It is boxed so that a hub can hold `Arc<dyn Journal>`.
pub type LogFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, LogError>> + Send + 'a>>;

/// The most bytes of a page of events, raw frames included; a single event may be larger. A reader that reads
/// page by page never makes the hub hold more than this.
pub const PAGE_BYTES: usize = 8 << 20;

/// Cuts events off after the first page.
pub fn cut_to_page(frames: &mut Vec<Frame>) {
    let mut bytes = 0;
    let ends = frames.iter().position(|frame| {
        bytes += frame.json().len() + frame.raw().map_or(0, |raw| raw.len());
        bytes > PAGE_BYTES
    });
    frames.truncate(ends.map_or(frames.len(), |at| at.max(1)));
}

/// Events of one session in the order of their seq.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The session.
    pub session: SessionId,
    /// The next events of the session. May be empty if only the row changed.
    pub frames: Arc<[Frame]>,
    /// The session's row after these events. The journal writes the row together with the events.
    pub info: Option<Arc<SessionInfo>>,
}

impl Batch {
    /// Checks that the seqs have no gap.
    pub fn is_dense(&self) -> Result<(), LogError> {
        match self.frames.first() {
            Some(first) => self.follows(Seq(first.seq().0.saturating_sub(1))),
            None => Ok(()),
        }
    }

    /// Checks that the batch continues a session that ends at `head`.
    pub fn follows(&self, head: Seq) -> Result<(), LogError> {
        let mut expected = head.next();
        for frame in self.frames.iter() {
            if frame.seq() != expected {
                return Err(LogError::Gap { session: self.session, expected, found: frame.seq() });
            }
            expected = expected.next();
        }
        Ok(())
    }
}

impl Batch {
    /// The part of the batch after `applied`; `None` if the catalog already has all of it.
    pub fn beyond(self, applied: Seq) -> Option<Self> {
        let Batch { session, frames, info } = self;
        let info = info.filter(|info| info.head >= applied);
        let start = frames.partition_point(|frame| frame.seq() <= applied);
        let frames = if start == 0 { frames } else { frames[start..].into() };
        (!frames.is_empty() || info.is_some()).then_some(Batch { session, frames, info })
    }
}

/// Whether a read returns the agents' own frames, which are most of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WithRaw {
    Yes,
    No,
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionReport {
    /// Sessions that lost events or blocks.
    pub sessions: u64,
    /// Deltas that were dropped.
    pub events: u64,
    /// Blocks of raw frames that were dropped or merged into others.
    pub blocks: u64,
}

/// The id of the approval or question that an event asks.
pub fn asked(body: &Body) -> Option<Uuid> {
    if let Body::ApprovalRequested(request) = body {
        Some(request.approval.0)
    } else if let Body::QuestionAsked(request) = body {
        Some(request.question.0)
    } else {
        None
    }
}

pub(crate) fn unreadable(error: serde_json::Error) -> LogError {
    LogError::other("reading an event", error)
}
