//! The journal: the events of each session, in order. Each append names the mark after which it goes, and
//! fails if another writer appended there first.

use longshore_model::event::AgentName;
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::{Batch, CompactionReport, LogError, LogFuture, WithRaw};

/// A position at the end of a session; each backend counts marks in its own way. Callers can only append
/// after a mark. [`Mark::default`] is the position before the first event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    /// Makes a mark from the backend's own number.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// The backend's own number.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// The end of a session. A session that the journal does not know ends before its first event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionHead {
    /// The seq of the last event.
    pub seq: Seq,
    /// The mark that the next append must name.
    pub mark: Mark,
}

/// A store of what happened. The same story tests every implementation.
pub trait Journal: Send + Sync + 'static {
    /// Appends a batch after a mark. When the future resolves, the batch is durable, and the returned mark is
    /// the mark for the next append. The journal writes the whole batch or nothing.
    ///
    /// - [`LogError::Fenced`]: another writer continued the session first. The journal wrote nothing; read
    ///   the other writer's events.
    /// - [`LogError::Unknown`]: the journal may have written the batch, or may still write it. Append the
    ///   batch again with the same nonce: the journal never writes it twice. If this append is fenced,
    ///   another writer was first or came after the batch: read the session to see whether it has the batch.
    /// - [`LogError::Full`]: the journal wrote nothing, and writes nothing until there is room.
    /// - [`LogError::Gap`]: the seqs have a gap, which is a bug of the caller.
    ///
    /// Every append has its own nonce. Once the future was polled, dropping it does not undo the append.
    fn append(&self, batch: Batch, after: Mark, nonce: Uuid) -> LogFuture<'_, Mark>;

    /// The end of a session.
    fn head(&self, session: SessionId) -> LogFuture<'_, SessionHead>;

    /// The events of a session after `after`, ascending: at most `limit` events and at most
    /// [`crate::PAGE_BYTES`] bytes, but at least one event. Compaction leaves gaps in the seqs, so the next
    /// page begins after the last seq of this page. An empty page is the end.
    fn read(&self, session: SessionId, after: Seq, limit: usize, raw: WithRaw) -> LogFuture<'_, Vec<Frame>>;

    /// Everything that happens in all sessions after a cursor; a catalog is fed with it. The events of each
    /// session come in order and without gaps, except for events that compaction dropped. The feed reaches up
    /// to a session's last event that is no delta; later deltas come with the event that ends them. Nothing
    /// from before the cursor comes again.
    fn follow(&self, from: FeedCursor, raw: WithRaw) -> Result<Box<dyn Feed>, LogError>;

    /// The batches that any writer appends to a session from now on. A watch is a hint: a slow reader misses
    /// batches, notices the gap in the seqs, and reads the session.
    fn watch(&self, session: SessionId) -> SessionWatch;

    /// Drops deltas that a later final event of their item repeats, together with their raw frames. Only
    /// deltas of turns that ended before that time are dropped; outside of a turn, the final event must be
    /// older than that time. The last event of a session always stays.
    fn compact(&self, ended_before: Timestamp) -> LogFuture<'_, CompactionReport>;

    /// Drops whole sessions that are asleep or closed, in which nothing waits, and that did not change since
    /// that time. Returns the number of dropped sessions.
    fn forget(&self, updated_before: Timestamp) -> LogFuture<'_, u64>;

    /// Drops one session for good, whatever its state: its events, its row and its entries in the index.
    /// Returns whether the session existed. The log remembers the session's conversation as erased.
    fn erase(&self, session: SessionId) -> LogFuture<'_, bool>;
}

/// How far a reader has followed a journal; each backend encodes it in its own way. The default is the
/// beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedCursor(String);

impl FeedCursor {
    /// Makes a cursor from the backend's own text.
    pub fn new(words: String) -> Self {
        Self(words)
    }

    /// The backend's own text, also for readers that store the cursor.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Everything that happens in a journal, entry by entry.
pub trait Feed: Send {
    /// The next entry; `None` if there is no further entry for now. Dropping the future loses nothing.
    fn next(&mut self) -> LogFuture<'_, Option<FeedEntry>>;

    /// Waits until there may be entries after those that [`Feed::next`] has returned.
    fn ready(&mut self) -> LogFuture<'_, ()>;
}

/// An entry of a feed.
#[derive(Clone, Debug)]
pub struct FeedEntry {
    /// The cursor after this entry.
    pub cursor: FeedCursor,
    /// What happened.
    pub change: JournalChange,
}

/// A change of a session.
#[derive(Clone, Debug)]
pub enum JournalChange {
    /// The session continued. The row is the newest one, not the row of that time.
    Block(Batch),
    /// The session was forgotten or erased.
    Gone {
        /// The session.
        session: SessionId,
        /// The session's conversation, if somebody erased it.
        erased: Option<ErasedConversation>,
    },
}

/// A conversation that somebody erased here. Its agent may still have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedConversation {
    /// The agent.
    pub agent: AgentName,
    /// The agent's own id of the conversation.
    pub native: NativeId,
}

/// The batches that are appended to one session.
#[derive(Debug)]
pub struct SessionWatch {
    session: SessionId,
    blocks: broadcast::Receiver<Batch>,
}

impl SessionWatch {
    /// Makes a watch from a backend's channel of all sessions.
    pub fn new(session: SessionId, blocks: broadcast::Receiver<Batch>) -> Self {
        Self { session, blocks }
    }

    /// The next batch; `None` when the journal is closed.
    pub async fn next(&mut self) -> Option<Batch> {
        loop {
            match self.blocks.recv().await {
                Ok(block) if block.session == self.session => return Some(block),
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

/// Sends appended batches to everybody who watches a session, for backends in this process.
#[derive(Clone, Debug)]
pub struct BlockHints(broadcast::Sender<Batch>);

/// The number of batches that a watch may lag behind before it misses some.
const HINTS: usize = 256;

impl Default for BlockHints {
    fn default() -> Self {
        Self(broadcast::Sender::new(HINTS))
    }
}

impl BlockHints {
    /// The batch to send; `None` if nobody watches.
    pub fn of(&self, batch: &Batch) -> Option<Batch> {
        (self.0.receiver_count() > 0).then(|| batch.clone())
    }

    /// Sends a batch, once it is durable.
    pub fn tell(&self, hint: Option<Batch>) {
        if let Some(block) = hint {
            // Nobody may be watching any longer.
            let _ = self.0.send(block);
        }
    }

    /// Makes a watch of one session.
    pub fn watch(&self, session: SessionId) -> SessionWatch {
        SessionWatch::new(session, self.0.subscribe())
    }
}
