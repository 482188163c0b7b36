//! The tasks: one looks for records, two read.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longshore_model::anchor::{FromAnchor, Past};
use longshore_model::capability::Capabilities;
use longshore_model::event::Draft;
use longshore_model::id::SessionId;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use super::index::{Found, Index, Key, walk};
use super::{BATCH, Reader, RecordLines, Records, Told, WatchPast};
use crate::anchor::{AnchorConfig, Deliver};
use crate::clock;
use crate::discover::Surroundings;
use crate::spec::Agent;

/// How many are told of at once.
const TOLD_AT_ONCE: usize = 100;
/// How many are read at once.
const READ_AT_ONCE: usize = 2;
/// How many batches may wait for the hub.
const BATCHES: usize = 2;
/// How many bytes of lines a batch has at most, unless a single line has more.
const BATCH_BYTES: usize = 4 << 20;
/// How many readers are kept where they stand, for records that go on.
const WARM: usize = 16;
/// A conversation that began just now may be one of ours of which the hub has not heard yet.
const SETTLED_AFTER_MS: i64 = 3_000;
/// A record to which nobody has written for so long is one in which nothing happens any more.
const AT_REST_AFTER_MS: i64 = 3_600_000;

/// Looks for records and reads them.
pub(crate) struct Watcher {
    inner: Arc<Inner>,
}

/// Whether a conversation that has just begun is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Haste {
    /// At once: somebody asks.
    Now,
    /// When it is clear that it is none of ours.
    Later,
}

struct Inner {
    watched: Vec<Watched>,
    config: WatchPast,
    deliver: Deliver,
    index: Mutex<Index>,
    desk: Mutex<Desk>,
    wake: Notify,
    /// One looks at a time.
    looking: tokio::sync::Mutex<()>,
    /// Held while the hub is told of what was found.
    telling: tokio::sync::Mutex<()>,
}

/// An agent that keeps records.
struct Watched {
    agent: Agent,
    records: &'static dyn Records,
    around: Surroundings,
}

/// What is to be read, and by whom.
#[derive(Default)]
struct Desk {
    /// In the order in which it was asked for.
    order: VecDeque<Key>,
    wanted: HashMap<Key, Wanted>,
    reading: HashSet<Key>,
    warm: VecDeque<(Key, Bookmark)>,
}

#[derive(Clone, Copy)]
struct Wanted {
    session: SessionId,
    after: u64,
}

/// A reader where it stands.
struct Bookmark {
    lines: RecordLines,
    reader: Box<dyn Reader>,
    at: Timestamp,
}

/// What was read at once.
struct Batch {
    after: u64,
    drafts: Vec<(Timestamp, Draft)>,
    until: u64,
}

impl Watcher {
    pub(crate) fn new(config: &AnchorConfig, deliver: Deliver) -> Self {
        let watched = config.agents.iter().filter_map(|agent| {
            let around = config.surroundings.with(&config.settings_of(agent).env);
            Some(Watched { records: agent.records()?, agent: Agent::clone(agent), around })
        });
        Self {
            inner: Arc::new(Inner {
                watched: watched.collect(),
                config: config.past.clone(),
                deliver,
                index: Mutex::default(),
                desk: Mutex::default(),
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

    /// Looks now, and tells the hub of what is new.
    pub(crate) async fn look(&self, haste: Haste) {
        self.inner.look(haste).await;
    }

    /// How many conversations are known, and how many of them are yet to be read.
    pub(crate) fn count(&self) -> (u64, u64) {
        let found = lock(&self.inner.index).count();
        let desk = lock(&self.inner.desk);
        let waiting = desk.wanted.keys().filter(|key| !desk.reading.contains(key)).count();
        (found as u64, (waiting + desk.reading.len()) as u64)
    }

    /// A session wants to know what comes after a place in a record.
    pub(crate) fn read_on(&self, agent: &str, native: NativeId, session: SessionId, after: u64) {
        let place = self.inner.watched.iter().position(|watched| watched.agent.name() == agent);
        let key = place.map(|agent| Key { agent, native });
        let Some(key) = key.filter(|key| lock(&self.inner.index).get(key).is_some()) else {
            return tracing::debug!(agent, %session, "nobody keeps a record of that conversation");
        };
        let mut desk = lock(&self.inner.desk);
        if desk.wanted.insert(key.clone(), Wanted { session, after }).is_none() {
            desk.order.push_back(key);
        }
        self.inner.wake.notify_one();
    }
}

impl Inner {
    async fn look(self: &Arc<Self>, haste: Haste) {
        let _alone = self.looking.lock().await;
        let changed = match self.clone().on_a_thread(Self::changed).await {
            Some(changed) if !changed.is_empty() => Arc::new(changed),
            Some(_) | None => return,
        };
        let _first = self.telling.lock().await;
        let titles = self.clone().on_a_thread(|inner| {
            let titles = |watched: &Watched| watched.records.titles(&watched.around);
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

    /// Work with the disk. None when it failed, of which a log line tells.
    async fn on_a_thread<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let done = spawn_blocking(move || work(&self)).await;
        done.map_err(|error| tracing::error!(%error, "looking at records failed")).ok()
    }

    /// The records that the hub has not been told of as they are.
    fn changed(&self) -> Vec<Key> {
        let mut found: Vec<Found> = Vec::new();
        for (agent, watched) in self.watched.iter().enumerate() {
            let folders: Vec<PathBuf> = watched.records.folders(&watched.around);
            walk(agent, watched.records, &folders, &mut found);
        }
        let ago = |oldest: Duration| {
            let millis = i64::try_from(oldest.as_millis()).unwrap_or(i64::MAX);
            clock::now().plus_millis(millis.saturating_neg())
        };
        lock(&self.index).update(found, self.config.oldest.map(ago))
    }

    /// A record as the hub is told of it, with the size at which it was told; without when there is nothing to tell.
    #[allow(clippy::type_complexity)]
    fn past(
        &self,
        key: &Key,
        haste: Haste,
        titles: &[std::collections::BTreeMap<NativeId, String>],
    ) -> Option<((Key, u64), Option<Past>)> {
        let watched = self.watched.get(key.agent)?;
        let mut index = lock(&self.index);
        let told = (key.clone(), index.size(key));
        let Some((head, size)) = index.look(key, watched.records) else { return Some((told, None)) };
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
        };
        Some((told, Some(past)))
    }

    /// One of those who read.
    async fn read_all(self: Arc<Self>) {
        loop {
            let next = lock(&self.desk).next();
            let Some((key, wanted)) = next else {
                self.wake.notified().await;
                continue;
            };
            // There may be something for the other one too.
            self.wake.notify_one();
            // First all are listed, then they are read: whoever looks for one wants to see that it is there.
            drop(self.telling.lock().await);
            let warm = self.read(&key, wanted).await;
            let mut desk = lock(&self.desk);
            desk.reading.remove(&key);
            if let Some(warm) = warm {
                desk.keep(key, warm);
            }
        }
    }

    /// Reads on in one record to its end, as fast as the hub takes it.
    async fn read(self: &Arc<Self>, key: &Key, wanted: Wanted) -> Option<Bookmark> {
        let Wanted { session, after } = wanted;
        let warm = lock(&self.desk).take_warm(key, after);
        let (batches, mut read) = mpsc::channel(BATCHES);
        let (inner, of) = (Arc::clone(self), key.clone());
        let reading = spawn_blocking(move || inner.read_blocking(&of, after, warm, &batches));
        while let Some(Batch { after, drafts, until }) = read.recv().await {
            (self.deliver)(FromAnchor::ReadPast { session, after, drafts, until }).await;
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
        after: u64,
        warm: Option<Bookmark>,
        batches: &mpsc::Sender<Batch>,
    ) -> io::Result<Option<Bookmark>> {
        let mut bookmark = match warm {
            Some(warm) => warm,
            None => match self.open(key, after)? {
                Some(opened) => opened,
                None => return Ok(None),
            },
        };
        let mut told = Told { at: bookmark.at, drafts: Vec::new() };
        let (mut sent, mut bytes) = (after, 0);
        loop {
            let place = bookmark.lines.place();
            let Some(line) = bookmark.lines.next()? else { break };
            if told.drafts.len() >= BATCH || bytes >= BATCH_BYTES {
                let batch = Batch { after: sent, drafts: std::mem::take(&mut told.drafts), until: place };
                // Nobody takes it any more: the anchor goes down.
                if batches.blocking_send(batch).is_err() {
                    return Ok(None);
                }
                (sent, bytes) = (place, 0);
            }
            bytes += line.text.len();
            bookmark.reader.line(&line.text, line.fault, &mut told);
        }
        let until = bookmark.lines.place();
        if until > sent {
            if self.is_at_rest(key) {
                bookmark.reader.rest(&mut told);
            }
            let batch = Batch { after: sent, drafts: std::mem::take(&mut told.drafts), until };
            if batches.blocking_send(batch).is_err() {
                return Ok(None);
            }
        }
        bookmark.at = told.at;
        Ok(Some(bookmark))
    }

    /// A reader that has read a record from its beginning to a place in it. What it says depends on what it has read.
    fn open(&self, key: &Key, after: u64) -> io::Result<Option<Bookmark>> {
        let Some(watched) = self.watched.get(key.agent) else { return Ok(None) };
        let (parts, began) = {
            let mut index = lock(&self.index);
            let began = index.look(key, watched.records).map(|(head, _)| head.created_at);
            (index.parts(key, watched.records), began)
        };
        let Some(parts) = parts else { return Ok(None) };
        let mut lines = RecordLines::of(parts);
        let mut reader = watched.records.reader(&key.native);
        let mut told = Told { at: began.unwrap_or_default(), drafts: Vec::new() };
        while lines.place() < after {
            let Some(line) = lines.next()? else { break };
            reader.line(&line.text, line.fault, &mut told);
            told.drafts.clear();
        }
        if lines.place() != after {
            tracing::warn!(native = key.native, after, "a record is another than it was; it is not read on");
            return Ok(None);
        }
        Ok(Some(Bookmark { lines, reader, at: told.at }))
    }

    fn is_at_rest(&self, key: &Key) -> bool {
        let written = lock(&self.index).get(key).map(|known| known.written);
        written.is_some_and(|written| written.plus_millis(AT_REST_AFTER_MS) < clock::now())
    }
}

impl Desk {
    /// What is to be read next: the first that nobody reads already.
    fn next(&mut self) -> Option<(Key, Wanted)> {
        let place = self.order.iter().position(|key| !self.reading.contains(key))?;
        let key = self.order.remove(place)?;
        let wanted = self.wanted.remove(&key)?;
        self.reading.insert(key.clone());
        Some((key, wanted))
    }

    /// The reader that stands at that place.
    fn take_warm(&mut self, key: &Key, after: u64) -> Option<Bookmark> {
        let place = self.warm.iter().position(|(of, _)| of == key)?;
        let (_, warm) = self.warm.remove(place)?;
        (warm.lines.place() == after).then_some(warm)
    }

    fn keep(&mut self, key: Key, warm: Bookmark) {
        if self.warm.len() >= WARM {
            self.warm.pop_front();
        }
        self.warm.push_back((key, warm));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
