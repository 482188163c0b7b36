//! The one writer: takes all waiting batches, writes them in one transaction, and answers after the commit.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use longshore_model::id::{Seq, SessionId};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use tokio::sync::{mpsc, oneshot, watch};
use uuid::Uuid;

use super::batch::{PreparedBatch, SessionRow};
use super::checkpoint::Checkpointer;
use super::feed::{self, Notice};
use super::journal::mark_of;
use super::place::place;
use super::reader;
use super::sqlite_error::SqliteError;
use crate::{LogError, Mark};

/// The most waiting jobs. A further append waits for room; the log refuses and drops nothing.
pub(super) const QUEUE: usize = 256;
/// The size at which a transaction takes no more batches, so that its first batch does not wait too long.
const GROUP_BYTES: usize = 4 * 1024 * 1024;

/// A job of the writer.
pub(super) enum WriterJob {
    Append(Box<PreparedBatch>, Ack<Mark>),
    /// A change without an event, in its own transaction: maintenance, keys.
    Change(Change, Ack<u64>),
}

pub(super) type Ack<T> = oneshot::Sender<Result<T, LogError>>;
pub(super) type Change = Box<dyn FnOnce(&Connection) -> Result<u64, SqliteError> + Send>;

/// Counts since the log was opened.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) appended: AtomicU64,
    pub(super) batches: AtomicU64,
    pub(super) commits: AtomicU64,
    /// Tells the feeds that the log has grown.
    pub(super) grown: watch::Sender<()>,
}

/// The writer. It runs on its own thread until nobody can send it jobs any more.
pub(super) struct LogWriter {
    connection: Connection,
    file: Arc<Path>,
    counters: Arc<Counters>,
    checkpointer: Checkpointer,
    /// The committed end of each session. Each session's first append adds its end.
    ends: HashMap<SessionId, End>,
    /// The last committed number of a block or a notice; `None` before the first number is read.
    number: Option<i64>,
}

#[derive(Clone, Copy)]
struct End {
    key: i64,
    head: Seq,
    /// The nonce of the last append.
    nonce: Option<Uuid>,
}

type WaitingBatch = (Box<PreparedBatch>, Ack<Mark>);

impl LogWriter {
    pub(super) fn new(
        connection: Connection,
        file: Arc<Path>,
        counters: Arc<Counters>,
        checkpointer: Checkpointer,
    ) -> Self {
        Self { connection, file, counters, checkpointer, ends: HashMap::new(), number: None }
    }

    pub(super) fn run(mut self, mut jobs: mpsc::Receiver<WriterJob>) {
        let mut waiting = Vec::with_capacity(QUEUE);
        while jobs.blocking_recv_many(&mut waiting, QUEUE) > 0 {
            let (mut group, mut bytes) = (Vec::new(), 0);
            for job in waiting.drain(..) {
                match job {
                    WriterJob::Append(batch, ack) => {
                        bytes += batch.bytes;
                        group.push((batch, ack));
                        if bytes > GROUP_BYTES {
                            self.commit_group(std::mem::take(&mut group));
                            bytes = 0;
                        }
                    }
                    WriterJob::Change(change, ack) => {
                        self.commit_group(std::mem::take(&mut group));
                        bytes = 0;
                        let _ = ack.send(self.change(change));
                    }
                }
            }
            self.commit_group(group);
        }
    }

    /// Writes all batches in one transaction. If that fails, writes each in its own, so that a bad batch
    /// harms only its own session.
    fn commit_group(&mut self, mut group: Vec<WaitingBatch>) {
        if group.is_empty() {
            return;
        }
        let answers = match self.transact(&group) {
            Ok(answers) => answers,
            Err(error) if group.len() == 1 => vec![Err(self.fault(error))],
            Err(error) => {
                tracing::warn!(batches = group.len(), %error, "group commit failed, trying each batch alone");
                for waiting in group.drain(..) {
                    self.commit_group(vec![waiting]);
                }
                return;
            }
        };
        // If the receiver is gone, it gave up waiting. Its events are in the log all the same.
        for ((_, ack), answer) in group.into_iter().zip(answers) {
            let _ = ack.send(answer);
        }
    }

    fn transact(&mut self, group: &[WaitingBatch]) -> rusqlite::Result<Vec<Result<Mark, LogError>>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut ends: HashMap<SessionId, End> = HashMap::new();
        let mut rows: HashMap<i64, &SessionRow> = HashMap::new();
        let mut answers = Vec::with_capacity(group.len());
        let (mut events, mut bytes, mut number) = (0, 0, self.number);
        for (batch, _) in group {
            let known = ends.get(&batch.session).or_else(|| self.ends.get(&batch.session)).copied();
            let end = match known {
                Some(end) => Some(end),
                None => find_end(&transaction, batch.session)?,
            };
            match place_of(batch, end) {
                Ok(BatchPlace::Next) => {}
                Ok(BatchPlace::Written(mark)) => {
                    answers.push(Ok(mark));
                    continue;
                }
                Err(refused) => {
                    answers.push(Err(refused));
                    continue;
                }
            }
            let key = match end {
                Some(end) => end.key,
                None => begin_session(&transaction, batch.session)?,
            };
            // Deltas alone need no number: the feed delivers them with the event that ends them.
            let numbered = match batch.last_said.is_some() || batch.row.is_some() {
                true => {
                    let next = number.map_or_else(|| feed::last_number(&transaction), Ok)? + 1;
                    number = Some(next);
                    number
                }
                false => None,
            };
            batch.write(&transaction, key, numbered)?;
            if let Some(number) = numbered.filter(|_| batch.last_said.is_none()) {
                feed::note(&transaction, number, batch.session, Notice::Row, None)?;
            }
            if let Some(row) = &batch.row {
                rows.insert(key, row);
            }
            let before = end.map(|end| end.head).unwrap_or_default();
            let head = batch.frames.last().map_or(before, |frame| frame.seq());
            let nonce = match batch.frames.is_empty() {
                true => end.and_then(|end| end.nonce),
                false => Some(batch.nonce),
            };
            ends.insert(batch.session, End { key, head, nonce });
            events += batch.frames.len() as u64;
            bytes += batch.bytes;
            answers.push(Ok(mark_of(head)));
        }
        if ends.is_empty() {
            return Ok(answers); // all refused: nothing to commit
        }
        for (key, row) in rows {
            row.write(&transaction, key)?;
        }
        transaction.commit()?;
        self.ends.extend(ends);
        self.number = number;
        self.counters.appended.fetch_add(events, Ordering::Relaxed);
        self.counters.batches.fetch_add(answers.iter().flatten().count() as u64, Ordering::Relaxed);
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        self.counters.grown.send_replace(());
        self.checkpointer.wrote(&self.connection, bytes);
        Ok(answers)
    }

    fn change(&mut self, change: Change) -> Result<u64, LogError> {
        let run = || -> Result<u64, SqliteError> {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let changed = change(&transaction)?;
            transaction.commit()?;
            Ok(changed)
        };
        let changed = run();
        // The change may have deleted sessions, and may have assigned numbers.
        self.ends.clear();
        self.number = None;
        self.counters.grown.send_replace(());
        self.checkpointer.wrote(&self.connection, super::raw_block::BLOCK_BYTES);
        changed.map_err(|fault| fault.at(&self.file, "changing the log"))
    }

    fn fault(&self, error: rusqlite::Error) -> LogError {
        SqliteError::from(error).at(&self.file, "appending to the log")
    }
}

/// Where a batch lies, compared with the end of its session.
enum BatchPlace {
    /// The batch continues the session.
    Next,
    /// The batch already is the end of the session: its writer did not get the answer, and appends it again.
    Written(Mark),
}

/// Checks that a batch begins where the session ends; the batch itself is already checked.
fn place_of(batch: &PreparedBatch, end: Option<End>) -> Result<BatchPlace, LogError> {
    let head = end.map(|end| end.head).unwrap_or_default();
    if batch.after != mark_of(head) {
        return match end.is_some_and(|end| end.nonce == Some(batch.nonce)) {
            true => Ok(BatchPlace::Written(mark_of(head))),
            false => Err(LogError::Fenced { session: batch.session }),
        };
    }
    let expected = head.next();
    match batch.frames.first().map(|frame| frame.seq()) {
        Some(found) if found != expected => Err(LogError::Gap { session: batch.session, expected, found }),
        Some(_) | None => Ok(BatchPlace::Next),
    }
}

fn find_end(connection: &Connection, session: SessionId) -> rusqlite::Result<Option<End>> {
    let Some(key) = reader::key_of(connection, session)? else { return Ok(None) };
    let head = reader::head(connection, key)?;
    let nonce: Option<Option<[u8; 16]>> = connection
        .prepare_cached("SELECT nonce FROM events WHERE place = ?1")?
        .query_row([place(key, head)], |row| row.get(0))
        .optional()?;
    Ok(Some(End { key, head, nonce: nonce.flatten().map(Uuid::from_bytes) }))
}

pub(super) fn begin_session(connection: &Connection, session: SessionId) -> rusqlite::Result<i64> {
    connection.prepare_cached("INSERT INTO sessions (id) VALUES (?1)")?.execute([session.0.as_bytes()])?;
    Ok(connection.last_insert_rowid())
}

#[cfg(test)]
mod tests {
    use longshore_model::event::{Body, Event};
    use longshore_model::frame::Frame;
    use longshore_model::time::Timestamp;
    use uuid::Uuid;

    use super::super::{LogSettings, data_dir, schema};
    use super::*;
    use crate::Batch;

    const BAD: i64 = 13;

    fn batch(session: u128, first: u64, at: i64) -> PreparedBatch {
        let session = SessionId(Uuid::from_u128(session));
        let event = |seq| Event {
            seq: Seq(seq),
            session,
            agent: "codex".into(),
            at: Timestamp::from_micros(at),
            turn: None,
            item: None,
            parent: None,
            text: None,
            body: Body::TitleChanged,
        };
        let frames = (first..first + 3).map(|seq| Frame::encode(event(seq), None).unwrap()).collect();
        let after = mark_of(Seq(first - 1));
        PreparedBatch::new(Batch { session, frames, info: None }, after, Uuid::from_u128(1)).unwrap()
    }

    /// Gives a writer all of these batches at once. Returns the writer's answers and the number of
    /// transactions.
    fn write(trigger: &str, batches: Vec<PreparedBatch>) -> (Vec<Result<Mark, LogError>>, u64, i64) {
        let folder = tempfile::tempdir().unwrap();
        let folder = data_dir::DataDir::take(folder.path()).unwrap();
        let connection = schema::open(&folder.file, &LogSettings::default()).unwrap();
        connection.execute_batch(trigger).unwrap();
        let beside = schema::open_beside(&folder.file, &LogSettings::default()).unwrap();
        let counters = Arc::<Counters>::default();
        let checkpointer = Checkpointer::start(beside).unwrap();
        let writer = LogWriter::new(connection, folder.file.clone(), counters.clone(), checkpointer);
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let answers: Vec<_> = batches
            .into_iter()
            .map(|batch| {
                let (ack, answer) = oneshot::channel();
                jobs.try_send(WriterJob::Append(Box::new(batch), ack)).ok().unwrap();
                answer
            })
            .collect();
        drop(jobs);
        let reader = schema::open_reading(&folder.file).unwrap();
        writer.run(waiting);
        let answers = answers.into_iter().map(|answer| answer.blocking_recv().unwrap()).collect();
        let events = reader.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
        (answers, counters.commits.load(Ordering::Relaxed), events)
    }

    #[test]
    fn all_that_waits_shares_one_transaction() {
        let mut batches: Vec<_> = (0..100).map(|session| batch(session, 1, 0)).collect();
        batches.push(batch(7, 4, 0)); // the same session goes on
        let mut hole = batch(7, 5, 0);
        hole.after = mark_of(Seq(6));
        batches.push(hole); // and here it does not
        let (mut answers, commits, events) = write("", batches);
        let gap = answers.pop().unwrap();
        assert!(matches!(gap, Err(LogError::Gap { expected: Seq(7), found: Seq(5), .. })), "{gap:?}");
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!((commits, events), (1, 303));
    }

    #[test]
    fn a_bad_batch_harms_its_own_session_only() {
        let refuse = format!(
            "CREATE TEMP TRIGGER bad BEFORE INSERT ON events WHEN new.at = {BAD} \
             BEGIN SELECT raise(ABORT, 'no'); END"
        );
        let mut hole = batch(2, 4, 0);
        hole.after = Mark::default();
        let batches = vec![batch(1, 1, 0), batch(2, 1, BAD), hole, batch(3, 1, 0), batch(1, 4, 0)];
        let (answers, commits, events) = write(&refuse, batches);
        assert!(matches!(answers[1], Err(LogError::Other { .. })), "{answers:?}");
        assert!(matches!(answers[2], Err(LogError::Gap { expected: Seq(1), .. })), "{answers:?}");
        assert!([0, 3, 4].iter().all(|good| answers[*good].is_ok()), "{answers:?}");
        assert_eq!(events, 9);
        assert_eq!(commits, 3, "each alone");
    }
}
