//! Agents that the anchor must ask for their conversations: when it asks, and for what.
//!
//! No process starts without need. The agent's files show whether anything has happened. If they have not
//! changed since the last look, the anchor does not ask the agent.

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

/// How often the anchor may start a process only to ask for new conversations. While a person works with the
/// agent, its files change all the time.
const STARTED_EVERY: Duration = Duration::from_secs(300);
/// How many conversations a page has.
const PAGE: u32 = 100;
/// How often one look lists the conversations. The files may change while the agent starts.
const ROUNDS: usize = 3;
/// How many pages a conversation may have.
const PAGES: usize = 100_000;

/// A question to the shared process of an agent.
#[derive(Debug)]
pub(crate) struct AgentErrand {
    /// The agent to ask.
    pub(crate) agent: Agent,
    /// The id of the question.
    pub(crate) id: QueryId,
    /// The question.
    pub(crate) query: AgentQuestion,
    /// Whether to start a process for the question. If not, only a process that hosts a session is asked.
    pub(crate) start: bool,
    /// The channel of the answer. Dropped if no process was asked.
    pub(crate) answer: oneshot::Sender<Result<Answer, String>>,
}

/// A caller that waits for a look. The sender is dropped when the hub has been told of everything.
pub(super) type Caller = oneshot::Sender<()>;

/// An agent to ask, and the channel of the callers that wait for a look.
pub(super) struct Called {
    pub(super) agent: usize,
    pub(super) served: &'static dyn ServedRecords,
    pub(super) callers: mpsc::Receiver<Caller>,
}

/// The state of the agent's files: when each was last written, and its size.
type Stamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// The result of a look.
enum Looked {
    /// No process was asked.
    Unasked,
    /// The hub has learned of all conversations, or of all but some that are left for the next look.
    Told {
        all: bool,
    },
    Failed(String),
}

/// What the task keeps from one look to the next.
#[derive(Debug, Default)]
struct Pace {
    /// The state of the files when the hub had learned of everything.
    told: Option<Stamp>,
    asked: Option<Instant>,
    /// Why the last look failed. With this, the log reports each failure once.
    failed: Option<String>,
}

impl Pace {
    /// Whether to ask the agent, and whether to start a process for it.
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
    /// The task of one agent that must be asked.
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
                    // The agent may have answered before a change that came meanwhile.
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

    /// Asks for conversations, page by page, and tells the hub of new and changed ones.
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
            // A cursor that leads to the same page ends the list.
            if next.is_none() || next == cursor {
                lock(&self.served_index).is_whole(agent);
                break;
            }
            cursor = next;
        }
        Looked::Told { all }
    }

    /// Tells the hub of a page. Returns false if some conversations are left for later.
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
        // This happens before the delivery, so that a session that reads a conversation at once can have the
        // hub told again.
        lock(&self.served_index).told(told);
        if !found.is_empty() {
            (self.deliver)(FromAnchor::FoundPast { found }).await;
        }
        all
    }

    /// Reads a conversation from a place on, as fast as the hub takes it.
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

    /// All messages of a conversation.
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
            // A batch ends only between places. Messages with the same place stay together.
            let is_much = reading.drafts.len() >= BATCH || bytes >= BATCH_BYTES;
            if is_much && *place > reached && reached > sent {
                let batch =
                    Batch { after: sent, drafts: std::mem::take(&mut reading.drafts), until: reached };
                // The receiver is gone, because the anchor shuts down.
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
                // The reader needs the earlier messages, but the hub already has their drafts.
                false => reading.drafts.clear(),
            }
        }
        let unfinished = &messages[places.len().min(messages.len())..];
        // The anchor does not wait for messages that our own driver reported. The agent that would finish
        // them has ended, or our driver reports their end.
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
            // An error means that the anchor shuts down.
            let _ = batches.blocking_send(Batch { after: sent, drafts: reading.drafts, until: reached });
        }
    }

    /// Asks the shared process of an agent. None if no process was asked.
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
