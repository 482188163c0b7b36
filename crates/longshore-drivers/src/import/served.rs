//! Agents that must be asked for their conversations: when to ask them, and what for.
//!
//! No process starts without need. The agent's files show whether anything has happened: as long as they have
//! not changed since the last look, nobody asks the agent.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use longshore_model::anchor::{
    AgentQuestion, Answer, FromAnchor, MessagesQuery, NativeMessages, NativeSessions, Past, SessionsQuery,
};
use longshore_model::event::Raw;
use longshore_model::id::{Context, QueryId};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::index::Key;
use super::outside::OutsideTurns;
use super::read_queue::ReadRequest;
use super::served_index::millis;
use super::watch::{
    AT_REST_AFTER_MS, BATCH_BYTES, BATCHES, Batch, Haste, RecordSource, SETTLED_AFTER_MS, WatcherShared, lock,
};
use super::{BATCH, LONGEST, Reading, ServedRecords};
use crate::clock;
use crate::spec::Agent;

/// How often a process may be started only to be asked whether there is something new. A person who works with the agent
/// changes its files all the time.
const STARTED_EVERY: Duration = Duration::from_secs(300);
/// How many conversations a page has.
const PAGE: u32 = 100;
/// How often conversations are listed in one look: the files may change while the agent begins to listen.
const ROUNDS: usize = 3;
/// How many pages a conversation may have.
const PAGES: usize = 100_000;

/// A question to the one process of an agent.
#[derive(Debug)]
pub(crate) struct AgentErrand {
    /// Which agent.
    pub(crate) agent: Agent,
    /// The name of the question.
    pub(crate) id: QueryId,
    /// The question.
    pub(crate) query: AgentQuestion,
    /// Whether a process is started for it. Otherwise only one is asked that hosts a session.
    pub(crate) start: bool,
    /// Dropped when nobody was asked.
    pub(crate) answer: oneshot::Sender<Result<Answer, String>>,
}

/// Somebody who wants to know now; dropped when all is told.
pub(super) type Caller = oneshot::Sender<()>;

/// An agent that is asked, and where those call who want to know now.
pub(super) struct Called {
    pub(super) agent: usize,
    pub(super) served: &'static dyn ServedRecords,
    pub(super) callers: mpsc::Receiver<Caller>,
}

/// The agent's files as they were: when they were written to, and how long they are.
type Stamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// What came of a look.
enum Looked {
    /// Nobody was asked.
    Unasked,
    /// All is told, or some of it is left for the next time.
    Told {
        all: bool,
    },
    Failed(String),
}

/// What is remembered from one look to the next.
#[derive(Debug, Default)]
struct Pace {
    /// The files as they were when all was told.
    told: Option<Stamp>,
    asked: Option<Instant>,
    /// Why the last look failed, so that the log says so once.
    failed: Option<String>,
}

impl Pace {
    /// Whether the agent is asked, and whether a process is started for it.
    fn wants(&self, haste: Haste, files: &Stamp, has_waited: bool, now: Instant) -> Option<bool> {
        let is_due = self.asked.is_none_or(|asked| now.duration_since(asked) >= STARTED_EVERY);
        match haste {
            Haste::Now => Some(true),
            Haste::Later if self.told.as_ref() != Some(files) || has_waited => Some(is_due),
            Haste::Later => None,
        }
    }
}

impl WatcherShared {
    /// One for each agent that is asked.
    pub(super) async fn watch_served(self: Arc<Self>, called: Called) {
        let Called { agent, served, mut callers } = called;
        let mut times = self.config.every.map(|every| {
            let mut times = interval(every);
            times.set_missed_tick_behavior(MissedTickBehavior::Delay);
            times
        });
        let mut pace = Pace::default();
        loop {
            let (haste, mut waiting) = tokio::select! {
                caller = callers.recv() => match caller {
                    Some(caller) => (Haste::Now, vec![caller]),
                    None => return,
                },
                () = tick(&mut times) => (Haste::Later, Vec::new()),
            };
            while let Ok(caller) = callers.try_recv() {
                waiting.push(caller);
            }
            self.look_at_served(agent, served, haste, &mut pace).await;
        }
    }

    async fn look_at_served(
        self: &Arc<Self>,
        agent: usize,
        served: &'static dyn ServedRecords,
        haste: Haste,
        pace: &mut Pace,
    ) {
        let mut before = self.stamp(agent, served).await;
        if before.is_empty() {
            return;
        }
        let rested = clock::now().plus_millis(-AT_REST_AFTER_MS);
        let has_waited = lock(&self.served_index).has_waited(agent, rested);
        let Some(start) = pace.wants(haste, &before, has_waited, Instant::now()) else { return };
        for _ in 0..ROUNDS {
            match self.list(agent, haste, start).await {
                Looked::Unasked => return,
                Looked::Failed(why) => {
                    pace.asked = Some(Instant::now());
                    if pace.failed.as_ref() != Some(&why) {
                        let name = self.watched.get(agent).map(|watched| watched.agent.name());
                        tracing::warn!(agent = name, why, "an agent does not tell of its past conversations");
                        pace.failed = Some(why);
                    }
                    return;
                }
                Looked::Told { all } => {
                    (pace.asked, pace.failed) = (Some(Instant::now()), None);
                    // What has changed meanwhile may have come too late for what was told.
                    let after = self.stamp(agent, served).await;
                    if after == before {
                        pace.told = all.then_some(after);
                        return;
                    }
                    before = after;
                }
            }
        }
    }

    async fn stamp(self: &Arc<Self>, agent: usize, served: &'static dyn ServedRecords) -> Stamp {
        let look = move |inner: &Self| {
            let around = inner.watched.get(agent).map(|watched| &watched.around);
            let files = around.map(|around| served.files(around)).unwrap_or_default();
            let stamp = |file: PathBuf| {
                let now = std::fs::metadata(&file).ok()?;
                Some((file, now.modified().ok(), now.len()))
            };
            files.into_iter().filter_map(stamp).collect()
        };
        Arc::clone(self).on_a_thread(look).await.unwrap_or_default()
    }

    /// Asks for conversations, page by page, and tells the hub of those that are new or have gone on.
    async fn list(self: &Arc<Self>, agent: usize, haste: Haste, start: bool) -> Looked {
        let Some(watched) = self.watched.get(agent) else { return Looked::Unasked };
        let mut cursor: Option<String> = None;
        let mut all = true;
        loop {
            let name = watched.agent.name().into();
            let query = SessionsQuery { agent: name, cursor: cursor.clone(), limit: PAGE };
            let (sessions, next) = match self.ask(&watched.agent, query.into(), start).await {
                None => return Looked::Unasked,
                Some(Ok(Answer::Sessions(NativeSessions { sessions, next }))) => (sessions, next),
                Some(answer) => return Looked::Failed(unexpected(answer)),
            };
            let page = lock(&self.served_index).take_in(agent, sessions, self.since());
            all &= self.tell_page(watched, &page.changed, haste).await;
            if page.is_last {
                break;
            }
            // A page that leads to itself leads nowhere.
            if next.is_none() || next == cursor {
                lock(&self.served_index).is_whole(agent);
                break;
            }
            cursor = next;
        }
        Looked::Told { all }
    }

    /// False when some of it is better told later.
    async fn tell_page(self: &Arc<Self>, watched: &RecordSource, keys: &[Key], haste: Haste) -> bool {
        if keys.is_empty() {
            return true;
        }
        let _first = self.telling.lock().await;
        let capabilities = watched.agent.capabilities();
        let settled = clock::now().plus_millis(-SETTLED_AFTER_MS);
        let (told, found): (Vec<&Key>, Vec<Past>) = {
            let served_index = lock(&self.served_index);
            let name = watched.agent.name();
            let past = |key: &Key| served_index.past(key, name.into(), capabilities.clone());
            let found = keys.iter().filter_map(|key| Some((key, past(key)?)));
            found.filter(|(_, past)| haste == Haste::Now || past.created_at <= settled).unzip()
        };
        let all = told.len() == keys.len();
        // Before, so that whoever reads it at once can ask for it to be told again.
        lock(&self.served_index).told(told);
        if !found.is_empty() {
            (self.deliver)(FromAnchor::FoundPast { found }).await;
        }
        all
    }

    /// Reads on in a conversation, as fast as the hub takes it.
    pub(super) async fn read_served(
        self: &Arc<Self>,
        key: &Key,
        served: &'static dyn ServedRecords,
        wanted: ReadRequest,
    ) {
        let Some(watched) = self.watched.get(key.agent) else { return };
        let messages = match self.messages(watched, key).await {
            Ok(messages) => messages,
            Err(why) => {
                tracing::warn!(native = key.native, why, "a past conversation cannot be read");
                return lock(&self.served_index).tell_again(key, false);
            }
        };
        let (session, since) = (wanted.session, wanted.since());
        let (batches, mut read) = mpsc::channel(BATCHES);
        let (inner, of) = (Arc::clone(self), key.clone());
        let reading = spawn_blocking(move || inner.read_messages(&of, served, wanted, &messages, &batches));
        while let Some(Batch { after, drafts, until }) = read.recv().await {
            (self.deliver)(FromAnchor::ReadPast { session, after, since, drafts, until }).await;
        }
        if let Err(error) = reading.await {
            tracing::error!(native = key.native, %error, "reading a past conversation failed");
        }
    }

    /// All that was said in a conversation.
    async fn messages(&self, watched: &RecordSource, key: &Key) -> Result<Vec<Raw>, String> {
        let (mut pages, mut cursor, mut bytes) = (Vec::new(), None, 0);
        while pages.len() < PAGES {
            let (agent, native) = (watched.agent.name().into(), key.native.clone());
            let query = MessagesQuery { agent, native, cursor: cursor.clone() };
            let (page, before) = match self.ask(&watched.agent, query.into(), true).await {
                None => {
                    return Err(format!(
                        "{} accepts no more questions now; ask again in a moment",
                        watched.agent.title()
                    ));
                }
                Some(Ok(Answer::Messages(NativeMessages { messages, before }))) => (messages, before),
                Some(answer) => return Err(unexpected(answer)),
            };
            bytes += page.iter().map(|message| message.len()).sum::<usize>();
            if bytes > LONGEST {
                return Err(format!("it has more than {} MB", LONGEST >> 20));
            }
            pages.push(page);
            if before.is_none() || before == cursor {
                return Ok(pages.into_iter().rev().flatten().collect());
            }
            cursor = before;
        }
        Err("it has no beginning".to_owned())
    }

    fn read_messages(
        &self,
        key: &Key,
        served: &'static dyn ServedRecords,
        wanted: ReadRequest,
        messages: &[Raw],
        batches: &mpsc::Sender<Batch>,
    ) {
        let ReadRequest { after, told: told_here, .. } = wanted;
        let mut outside = OutsideTurns::but(told_here);
        let Some((created_at, updated_at)) = lock(&self.served_index).times(key) else { return };
        let is_at_rest = updated_at.plus_millis(AT_REST_AFTER_MS) < clock::now();
        let places = served.places(messages, is_at_rest.then(|| millis(updated_at)));
        let mut reader = served.reader(&key.native);
        let mut reading = Reading { at: created_at, ..Reading::default() };
        let (mut sent, mut bytes, mut reached) = (after, 0, 0);
        for (message, place) in messages.iter().zip(&places) {
            // Only between places: those that stand at one place are taken in together.
            let is_much = reading.drafts.len() >= BATCH || bytes >= BATCH_BYTES;
            if is_much && *place > reached && reached > sent {
                let batch =
                    Batch { after: sent, drafts: std::mem::take(&mut reading.drafts), until: reached };
                // Nobody takes it any more: the anchor goes down.
                if batches.blocking_send(batch).is_err() {
                    return;
                }
                (sent, bytes) = (reached, 0);
            }
            let before = reading.drafts.len();
            reader.line(message, None, &mut reading);
            reached = *place;
            match reached > after {
                true => {
                    bytes += message.len();
                    outside.sift(&mut reading, before);
                }
                // What it says depends on what was read before, which was told already.
                false => reading.drafts.clear(),
            }
        }
        let unfinished = &messages[places.len().min(messages.len())..];
        // What our own driver told of is not waited for: whoever would finish it is gone, or tells of it there.
        let is_told_here = outside.lets_nothing_of(unfinished, &mut *reader, reading.at);
        if is_told_here {
            reached = reached.max(millis(updated_at));
        } else {
            lock(&self.served_index).tell_again(key, true);
        }
        if reached > sent {
            if is_at_rest {
                let before = reading.drafts.len();
                reader.rest(&mut reading);
                outside.sift(&mut reading, before);
            }
            // If nobody takes it any more, the anchor goes down.
            let _ = batches.blocking_send(Batch { after: sent, drafts: reading.drafts, until: reached });
        }
    }

    /// Has the one process of an agent answer. None when nobody was asked.
    async fn ask(&self, agent: &Agent, query: AgentQuestion, start: bool) -> Option<Result<Answer, String>> {
        let id = QueryId::mint(&mut Context { now: clock::now(), ids: &mut lock(&self.ids) });
        let (answer, answered) = oneshot::channel();
        let errand = AgentErrand { agent: Agent::clone(agent), id, query, start, answer };
        self.errands.send(errand).await.ok()?;
        answered.await.ok()
    }
}

fn unexpected(answer: Result<Answer, String>) -> String {
    answer.err().unwrap_or_else(|| "the answer has another form".to_owned())
}

async fn tick(times: &mut Option<Interval>) {
    match times {
        Some(times) => drop(times.tick().await),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_started_now_and_then_and_never_for_nothing() {
        let files = |size: u64| vec![(PathBuf::from("opencode.db"), None, size)];
        let began = Instant::now();
        let mut pace = Pace::default();
        let wants = |pace: &Pace, haste, size: u64, later: Duration| {
            pace.wants(haste, &files(size), false, began + later)
        };
        let soon = Duration::from_secs(10);
        assert_eq!(wants(&pace, Haste::Later, 1, Duration::ZERO), Some(true), "at the start");
        (pace.told, pace.asked) = (Some(files(1)), Some(began));
        assert_eq!(wants(&pace, Haste::Later, 1, STARTED_EVERY * 9), None, "nothing has happened");
        assert_eq!(wants(&pace, Haste::Later, 2, soon), Some(false), "only one that runs anyway");
        assert_eq!(wants(&pace, Haste::Later, 2, STARTED_EVERY), Some(true));
        assert_eq!(wants(&pace, Haste::Now, 1, soon), Some(true), "somebody asks");
        assert_eq!(pace.wants(Haste::Later, &files(1), true, began + STARTED_EVERY), Some(true));
    }
}
