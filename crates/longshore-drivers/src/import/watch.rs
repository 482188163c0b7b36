//! The tasks: one looks for records, two read.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longshore_model::anchor::{FromAnchor, Past};
use longshore_model::capability::Capabilities;
use longshore_model::event::Draft;
use longshore_model::id::Ids;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use super::index::{Index, Key, RecordFile, walk};
use super::outside::OutsideTurns;
use super::read_queue::{Bookmark, ReadQueue, ReadRequest};
use super::served::{AgentErrand, Called, Caller};
use super::served_index::ServedIndex;
use super::{BATCH, Reading, RecordLines, Records, ServedRecords, WatchPast};
use crate::anchor::{AnchorConfig, Deliver};
use crate::clock;
use crate::discover::Surroundings;
use crate::spec::Agent;

/// How many records one message to the hub may report.
const TOLD_AT_ONCE: usize = 100;
/// How many records are read at the same time.
const READ_AT_ONCE: usize = 2;
/// How many batches may wait for the hub.
pub(super) const BATCHES: usize = 2;
/// How many bytes of lines a batch may have, unless a single line has more.
pub(super) const BATCH_BYTES: usize = 4 << 20;
/// A conversation younger than this may belong to a session whose start the hub has not recorded yet.
pub(super) const SETTLED_AFTER_MS: i64 = 3_000;
/// After this time without a write, the anchor expects nothing more in a record.
pub(super) const AT_REST_AFTER_MS: i64 = 3_600_000;
/// The same for a record that seems to be done.
const DONE_AFTER_MS: i64 = 600_000;

/// How many callers may wait at once for the conversations of an agent.
const CALLERS: usize = 64;

/// Looks for records and reads them.
pub(crate) struct Watcher {
    pub(super) inner: Arc<WatcherShared>,
    /// The channels to the tasks that ask agents.
    pub(super) asking: Vec<mpsc::Sender<Caller>>,
    /// The other ends of these channels, until the tasks run.
    callers: Mutex<Vec<Called>>,
}

/// Whether the anchor reports a conversation that has just begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Haste {
    /// At once, because a person asks.
    Now,
    /// When it is clear that the conversation is none of ours.
    Later,
}

pub(super) struct WatcherShared {
    pub(super) watched: Vec<RecordSource>,
    pub(super) config: WatchPast,
    pub(super) deliver: Deliver,
    pub(super) index: Mutex<Index>,
    pub(super) served_index: Mutex<ServedIndex>,
    /// The channel of questions to agents.
    pub(super) errands: mpsc::Sender<AgentErrand>,
    pub(super) ids: Mutex<Ids>,
    queue: Mutex<ReadQueue>,
    wake: Notify,
    /// One look at a time.
    pub(super) looking: tokio::sync::Mutex<()>,
    /// Held while the hub is told of the found conversations.
    pub(super) telling: tokio::sync::Mutex<()>,
}

/// A source of records.
pub(super) struct RecordSource {
    /// The agent to which the conversations of this source are attributed.
    pub(super) agent: Agent,
    /// The other agents with the same records: other ways to drive the agent, or other versions of it.
    pub(super) sharers: Vec<String>,
    pub(super) kept: RecordStore,
    pub(super) around: Surroundings,
}

/// How records are kept.
#[derive(Clone, Copy)]
pub(super) enum RecordStore {
    Files(&'static dyn Records),
    Served(&'static dyn ServedRecords),
}

impl RecordSource {
    /// The records, if they are files.
    pub(super) fn records(&self) -> Option<&'static dyn Records> {
        match self.kept {
            RecordStore::Files(records) => Some(records),
            RecordStore::Served(_) => None,
        }
    }

    /// Whether another agent keeps its records in the same folders.
    fn is_shared_with(&self, kept: RecordStore, around: &Surroundings) -> bool {
        let (RecordStore::Files(own), RecordStore::Files(other)) = (self.kept, kept) else { return false };
        own.home_variable() == other.home_variable() && own.folders(&self.around) == other.folders(around)
    }
}

/// The drafts of several lines.
pub(super) struct Batch {
    pub(super) after: u64,
    pub(super) drafts: Vec<(Timestamp, Draft)>,
    pub(super) until: u64,
}

impl Watcher {
    pub(crate) fn new(config: &AnchorConfig, errands: mpsc::Sender<AgentErrand>, deliver: Deliver) -> Self {
        let mut watched: Vec<RecordSource> = Vec::new();
        for agent in &config.agents {
            let around = config.surroundings.with(&config.settings_of(agent).env);
            let kept = agent.records().map(RecordStore::Files);
            let Some(kept) = kept.or_else(|| agent.served_records().map(RecordStore::Served)) else {
                continue;
            };
            // Shared records must be found only once.
            if let Some(known) = watched.iter_mut().find(|known| known.is_shared_with(kept, &around)) {
                known.sharers.push(agent.name().to_owned());
                continue;
            }
            watched.push(RecordSource { kept, agent: Agent::clone(agent), sharers: Vec::new(), around });
        }
        let (mut asking, mut callers) = (Vec::new(), Vec::new());
        for (agent, watched) in watched.iter().enumerate() {
            if let RecordStore::Served(served) = watched.kept {
                let (call, called) = mpsc::channel(CALLERS);
                asking.push(call);
                callers.push(Called { agent, served, callers: called });
            }
        }
        // The seed makes only the ids of the import's own questions.
        let seed = getrandom::u64().unwrap_or_else(|_| clock::now().micros() as u64);
        Self {
            asking,
            callers: Mutex::new(callers),
            inner: Arc::new(WatcherShared {
                watched,
                served_index: Mutex::default(),
                errands,
                ids: Mutex::new(Ids::seeded(seed)),
                config: config.past.clone(),
                deliver,
                index: Mutex::default(),
                queue: Mutex::default(),
                wake: Notify::new(),
                looking: tokio::sync::Mutex::default(),
                telling: tokio::sync::Mutex::default(),
            }),
        }
    }

    /// Starts the tasks.
    pub(crate) fn start(&self, tasks: &mut JoinSet<()>) {
        if self.inner.watched.is_empty() {
            return;
        }
        for called in std::mem::take(&mut *lock(&self.callers)) {
            tasks.spawn(Arc::clone(&self.inner).watch_served(called));
        }
        for _ in 0..READ_AT_ONCE {
            tasks.spawn(Arc::clone(&self.inner).read_all());
        }
        if let Some(every) = self.inner.config.every {
            let inner = Arc::clone(&self.inner);
            tasks.spawn(async move {
                let mut times = interval(every);
                times.set_missed_tick_behavior(MissedTickBehavior::Delay);
                loop {
                    times.tick().await;
                    inner.look(Haste::Later).await;
                }
            });
        }
    }

    /// Looks now, and tells the hub of new conversations. If the caller stops waiting, the agents are asked
    /// nevertheless, and their answers still reach the hub.
    pub(crate) async fn look(&self) {
        let mut called = Vec::new();
        for asking in &self.asking {
            let (caller, done) = oneshot::channel();
            if asking.try_send(caller).is_ok() {
                called.push(done);
            }
        }
        self.inner.look(Haste::Now).await;
        for done in called {
            // The sender is dropped when the look is done.
            let _ = done.await;
        }
    }

    /// How many conversations are known, and how many of them are yet to be read.
    pub(crate) fn count(&self) -> (u64, u64) {
        let found = lock(&self.inner.index).count() + lock(&self.inner.served_index).count();
        (found as u64, lock(&self.inner.queue).count() as u64)
    }

    /// Queues a session's request for everything after a place in a record.
    pub(crate) fn read_on(&self, agent: &str, native: NativeId, wanted: ReadRequest) {
        let key = self.inner.place_of(agent).map(|agent| Key { agent, native });
        let is_known = |key: &Key| {
            lock(&self.inner.index).get(key).is_some() || lock(&self.inner.served_index).times(key).is_some()
        };
        let Some(key) = key.filter(is_known) else {
            return tracing::debug!(agent, session = %wanted.session, "no agent has a record of this conversation");
        };
        lock(&self.inner.queue).want(key, wanted);
        self.inner.wake.notify_one();
    }
}

impl WatcherShared {
    pub(super) async fn look(self: &Arc<Self>, haste: Haste) {
        let _alone = self.looking.lock().await;
        let changed = match self.clone().on_a_thread(Self::changed).await {
            Some(changed) if !changed.is_empty() => Arc::new(changed),
            Some(_) | None => return,
        };
        let _first = self.telling.lock().await;
        let titles = self.clone().on_a_thread(|inner| {
            let titles = |watched: &RecordSource| {
                let records = watched.records();
                records.map(|records| records.titles(&watched.around)).unwrap_or_default()
            };
            inner.watched.iter().map(titles).collect::<Vec<_>>()
        });
        let titles = Arc::new(titles.await.unwrap_or_default());
        for begin in (0..changed.len()).step_by(TOLD_AT_ONCE) {
            let (keys, titles) = (Arc::clone(&changed), Arc::clone(&titles));
            let past = self.clone().on_a_thread(move |inner| {
                let keys = &keys[begin..keys.len().min(begin + TOLD_AT_ONCE)];
                keys.iter().filter_map(|key| inner.past(key, haste, &titles)).collect::<Vec<_>>()
            });
            let Some(past) = past.await else { return };
            let (told, found): (Vec<_>, Vec<_>) = past.into_iter().unzip();
            let found: Vec<Past> = found.into_iter().flatten().collect();
            if !found.is_empty() {
                (self.deliver)(FromAnchor::FoundPast { found }).await;
            }
            let mut index = lock(&self.index);
            for (key, size) in &told {
                index.told(key, *size);
            }
        }
    }

    /// Runs work with the disk on a blocking thread. None if it failed; then the log says so.
    pub(super) async fn on_a_thread<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let done = spawn_blocking(move || work(&self)).await;
        done.map_err(|error| tracing::error!(%error, "looking at records failed")).ok()
    }

    /// The records that have changed since the hub was last told of them.
    pub(super) fn changed(&self) -> Vec<Key> {
        let mut found: Vec<RecordFile> = Vec::new();
        for (agent, watched) in self.watched.iter().enumerate() {
            let Some(records) = watched.records() else { continue };
            let folders: Vec<PathBuf> = records.folders(&watched.around);
            walk(agent, records, &folders, &mut found);
        }
        lock(&self.index).update(found, self.since())
    }

    /// The time limit. Records that were last written before it are ignored.
    pub(super) fn since(&self) -> Option<Timestamp> {
        let ago = |oldest: Duration| {
            let millis = i64::try_from(oldest.as_millis()).unwrap_or(i64::MAX);
            clock::now().plus_millis(millis.saturating_neg())
        };
        self.config.oldest.map(ago)
    }

    /// A record as the hub learns of it, and the size of its file. The record is none if there is no
    /// conversation in it.
    #[allow(clippy::type_complexity)]
    fn past(
        &self,
        key: &Key,
        haste: Haste,
        titles: &[std::collections::BTreeMap<NativeId, String>],
    ) -> Option<((Key, u64), Option<Past>)> {
        let watched = self.watched.get(key.agent)?;
        let records = watched.records()?;
        let mut index = lock(&self.index);
        let told = (key.clone(), index.size(key));
        let Some((head, size)) = index.look(key, records) else { return Some((told, None)) };
        if haste == Haste::Later && head.created_at.plus_millis(SETTLED_AFTER_MS) > clock::now() {
            return None;
        }
        let title = titles.get(key.agent).and_then(|titles| titles.get(&key.native));
        let past = Past {
            agent: watched.agent.name().into(),
            native: key.native.clone(),
            cwd: head.cwd.clone(),
            title: title.or(head.title.as_ref()).cloned(),
            created_at: head.created_at,
            parent: head.parent.clone(),
            capabilities: match head.closed {
                true => Capabilities::default(),
                false => watched.agent.capabilities(),
            },
            size,
            written: index.get(key).map_or(head.created_at, |known| known.written),
        };
        Some((told, Some(past)))
    }

    /// One of the reading tasks.
    async fn read_all(self: Arc<Self>) {
        loop {
            let next = lock(&self.queue).next();
            let Some((key, wanted)) = next else {
                self.wake.notified().await;
                continue;
            };
            // There may be work for the other reading task too.
            self.wake.notify_one();
            // All conversations are listed before they are read, so that a person who looks for one soon sees
            // it in the list.
            if !wanted.is_waited_for() {
                drop(self.telling.lock().await);
            }
            let warm = match self.watched.get(key.agent).map(|watched| watched.kept) {
                Some(RecordStore::Files(_)) => self.read(&key, wanted).await,
                Some(RecordStore::Served(served)) => {
                    self.read_served(&key, served, wanted).await;
                    None
                }
                None => None,
            };
            lock(&self.queue).done(key, warm);
        }
    }

    /// Reads one record to its end, as fast as the hub takes it.
    async fn read(self: &Arc<Self>, key: &Key, wanted: ReadRequest) -> Option<Bookmark> {
        let (session, since) = (wanted.session, wanted.since());
        let warm = lock(&self.queue).take_warm(key, wanted.after);
        let (batches, mut read) = mpsc::channel(BATCHES);
        let (inner, of) = (Arc::clone(self), key.clone());
        let reading = spawn_blocking(move || inner.read_blocking(&of, wanted, warm, &batches));
        while let Some(Batch { after, drafts, until }) = read.recv().await {
            (self.deliver)(FromAnchor::ReadPast { session, after, since, drafts, until }).await;
        }
        match reading.await {
            Ok(Ok(bookmark)) => bookmark,
            Ok(Err(error)) => {
                tracing::warn!(native = key.native, %error, "a record cannot be read");
                None
            }
            Err(error) => {
                tracing::error!(native = key.native, %error, "reading a record failed");
                None
            }
        }
    }

    fn read_blocking(
        &self,
        key: &Key,
        wanted: ReadRequest,
        warm: Option<Bookmark>,
        batches: &mpsc::Sender<Batch>,
    ) -> io::Result<Option<Bookmark>> {
        let ReadRequest { after, told, .. } = wanted;
        let mut outside = OutsideTurns::but(told);
        let mut bookmark = match warm {
            Some(warm) => warm,
            None => match self.open(key, after, &mut outside)? {
                Some(opened) => opened,
                None => return Ok(None),
            },
        };
        outside.names_prompts |= bookmark.names_prompts;
        let mut reading = Reading { at: bookmark.at, ..Reading::default() };
        let (mut sent, mut bytes) = (after, 0);
        loop {
            let place = bookmark.lines.place();
            let Some(line) = bookmark.lines.next()? else { break };
            if reading.drafts.len() >= BATCH || bytes >= BATCH_BYTES {
                let batch = Batch { after: sent, drafts: std::mem::take(&mut reading.drafts), until: place };
                // The receiver is gone, because the anchor shuts down.
                if batches.blocking_send(batch).is_err() {
                    return Ok(None);
                }
                (sent, bytes) = (place, 0);
            }
            bytes += line.text.len();
            let before = reading.drafts.len();
            bookmark.reader.line(&line.text, line.fault, &mut reading);
            outside.sift(&mut reading, before);
        }
        let until = bookmark.lines.place();
        if until > sent {
            let patience = if bookmark.reader.seems_done() { DONE_AFTER_MS } else { AT_REST_AFTER_MS };
            if self.is_at_rest(key, patience) {
                let before = reading.drafts.len();
                bookmark.reader.rest(&mut reading);
                outside.sift(&mut reading, before);
            }
            let batch = Batch { after: sent, drafts: std::mem::take(&mut reading.drafts), until };
            if batches.blocking_send(batch).is_err() {
                return Ok(None);
            }
        }
        (bookmark.at, bookmark.names_prompts) = (reading.at, outside.names_prompts);
        Ok(Some(bookmark))
    }

    /// Opens a reader and lets it read a record up to a place, because its later drafts depend on the earlier
    /// lines.
    fn open(&self, key: &Key, after: u64, outside: &mut OutsideTurns) -> io::Result<Option<Bookmark>> {
        let Some(records) = self.watched.get(key.agent).and_then(RecordSource::records) else {
            return Ok(None);
        };
        let (parts, began) = {
            let mut index = lock(&self.index);
            let began = index.look(key, records).map(|(head, _)| head.created_at);
            (index.parts(key, records), began)
        };
        let Some(parts) = parts else { return Ok(None) };
        let mut lines = RecordLines::of(parts);
        let mut reader = records.reader(&key.native);
        let mut reading = Reading { at: began.unwrap_or_default(), ..Reading::default() };
        while lines.place() < after {
            let Some(line) = lines.next()? else { break };
            reader.line(&line.text, line.fault, &mut reading);
            outside.note_prompt(reading.prompt.take());
            reading.drafts.clear();
        }
        if lines.place() != after {
            tracing::warn!(
                native = key.native,
                after,
                "a record was replaced by another one; the import of it stops"
            );
            return Ok(None);
        }
        Ok(Some(Bookmark { lines, reader, at: reading.at, names_prompts: outside.names_prompts }))
    }

    fn is_at_rest(&self, key: &Key, patience: i64) -> bool {
        let written = lock(&self.index).get(key).map(|known| known.written);
        written.is_some_and(|written| written.plus_millis(patience) < clock::now())
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
