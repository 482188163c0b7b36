//! Questions that concern no session: answered from the disk, from memory, or by a process that lives for one.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use longshore_model::anchor::{Answer, FromAnchor, Query};
use longshore_model::capability::ModelInfo;
use longshore_model::id::QueryId;
use tokio::sync::{Mutex, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::ending::{Cause, Ending};
use super::first_start::FirstStarts;
use super::job::{ProcessJob, Purpose};
use super::routes::{ProcessId, Route, Routes};
use super::{AnchorConfig, Deliver};
use crate::discover::{Versions, VersionsOf};
use crate::folders;
use crate::import::Watcher;
use crate::spec::Agent;

/// How many processes may answer questions at once; the others wait, and their deadline with them.
const AT_ONCE: usize = 4;

const SHUTTING_DOWN: &str = "shutting down";

/// How many work trees are looked at at once. Many turns may end at the same moment, and as many `git`s would take
/// the processors away from the agents and sessions that still work.
const LOOKS_AT_ONCE: usize = 2;

/// Where an answer comes from.
type Answered = oneshot::Receiver<Result<Answer, String>>;

/// The models of an agent, and until when they are believed.
type Remembered = Mutex<Option<(Instant, Vec<ModelInfo>)>>;

pub(crate) struct Queries {
    config: Arc<AnchorConfig>,
    first_starts: Arc<FirstStarts>,
    versions: Arc<Versions>,
    watcher: Arc<Watcher>,
    models: BTreeMap<String, Remembered>,
    slots: Semaphore,
    looks: Semaphore,
    deliver: Deliver,
}

impl Queries {
    pub(crate) fn new(
        config: Arc<AnchorConfig>,
        first_starts: Arc<FirstStarts>,
        watcher: Arc<Watcher>,
        deliver: Deliver,
    ) -> Self {
        let models =
            config.agents.iter().map(|agent| (agent.name().to_owned(), Remembered::default())).collect();
        let (slots, looks) = (Semaphore::new(AT_ONCE), Semaphore::new(LOOKS_AT_ONCE));
        Self { config, first_starts, versions: Arc::default(), watcher, models, slots, looks, deliver }
    }

    /// The agent whose one process for all sessions must be asked this, unless the answer is known.
    pub(crate) fn shared_agent(&self, query: &Query) -> Option<Agent> {
        let name = match query {
            Query::Agents { .. }
            | Query::Git { .. }
            | Query::Past
            | Query::WorkTree { .. }
            | Query::RecordSize { .. }
            | Query::Folders { .. } => return None,
            // It is asked in a process of its own, since one that runs says nothing of whether another would start.
            Query::Models { anew: true, .. } => return None,
            Query::Models { agent, .. } | Query::Sessions { agent, .. } | Query::Messages { agent, .. } => {
                agent
            }
        };
        let known = match query {
            Query::Models { .. } => {
                let remembered = self.models.get(&**name)?.try_lock().ok();
                remembered
                    .is_some_and(|models| models.as_ref().is_some_and(|(until, _)| Instant::now() < *until))
            }
            Query::Sessions { .. }
            | Query::Messages { .. }
            | Query::Agents { .. }
            | Query::Git { .. }
            | Query::Past
            | Query::WorkTree { .. }
            | Query::RecordSize { .. }
            | Query::Folders { .. } => false,
        };
        self.config.agent(name).filter(|agent| agent.shared() && !known).cloned()
    }

    /// Answers a question, by its deadline. `asked` is where the answer comes from when a process that hosts many
    /// sessions was asked already.
    pub(crate) async fn answer(&self, id: QueryId, query: Query, asked: Option<Answered>) {
        let deadline = self.config.query_deadline;
        let agent = match &query {
            Query::Agents { .. } => "the search for agents".to_owned(),
            Query::Git { .. } => "git".to_owned(),
            Query::Past | Query::RecordSize { .. } => "the search for past conversations".to_owned(),
            Query::WorkTree { .. } | Query::Folders { .. } => "the disk".to_owned(),
            Query::Models { agent, .. } | Query::Sessions { agent, .. } | Query::Messages { agent, .. } => {
                agent.to_string()
            }
        };
        let found = timeout(deadline, self.find(id, query, asked)).await;
        let (answer, asked) = found.unwrap_or_else(|_| (Err(late(&agent, deadline)), None));
        (self.deliver)(FromAnchor::Answer { id, answer }).await;
        // Only now, so that nobody waits for the process to end.
        if let Some(asked) = asked {
            asked.dismiss().await;
        }
    }

    async fn find(
        &self,
        id: QueryId,
        query: Query,
        shared: Option<Answered>,
    ) -> (Result<Answer, String>, Option<QueryProcess>) {
        let query = self.asked_of(query);
        let name = match &query {
            Query::Agents { only } => return (Ok(self.agents(only.as_deref()).await), None),
            Query::Git { cwd } => {
                let Ok(_look) = self.looks.acquire().await else {
                    return (Err(SHUTTING_DOWN.to_owned()), None);
                };
                return (Ok(Answer::Git { git: self.config.git.look_at(cwd).await }), None);
            }
            Query::Past => return (Ok(self.past().await), None),
            Query::WorkTree { path } => return (Ok(folders::work_tree(path).await), None),
            Query::RecordSize { agent, native } => {
                let size = self.watcher.size(agent, native.clone()).await;
                return (Ok(Answer::RecordSize { size }), None);
            }
            Query::Folders { path } => return (folders::look_into(path.clone()).await, None),
            Query::Models { agent, .. } | Query::Sessions { agent, .. } | Query::Messages { agent, .. } => {
                agent
            }
        };
        let (Some(agent), Some(models)) = (self.config.agent(name), self.models.get(&**name)) else {
            return (Err(self.config.unknown_agent(name)), None);
        };
        // Whoever asks for the same models waits here for the first one's answer.
        let mut remembered = match &query {
            Query::Models { .. } => Some(models.lock().await),
            Query::Sessions { .. }
            | Query::Messages { .. }
            | Query::Agents { .. }
            | Query::Git { .. }
            | Query::Past
            | Query::WorkTree { .. }
            | Query::RecordSize { .. }
            | Query::Folders { .. } => None,
        };
        let anew = matches!(query, Query::Models { anew: true, .. });
        if let Some(Some((until, models))) = remembered.as_deref()
            && Instant::now() < *until
            && !anew
        {
            return (Ok(Answer::Models { models: models.clone() }), None);
        }
        let Ok(_slot) = self.slots.acquire().await else { return (Err(SHUTTING_DOWN.to_owned()), None) };
        let (answer, asked) = match shared {
            Some(answered) => {
                let unheard = |_| {
                    Err(format!("{} accepts no more questions now; ask again in a moment", agent.title()))
                };
                (answered.await.unwrap_or_else(unheard), None)
            }
            None => {
                let mut asked = self.ask(Agent::clone(agent), id, query);
                (asked.answer().await, Some(asked))
            }
        };
        if let (Some(remembered), Ok(Answer::Models { models })) = (remembered.as_deref_mut(), &answer) {
            *remembered = Some((Instant::now() + self.config.models_believed, models.clone()));
        } else if let (Some(remembered), true) = (remembered.as_deref_mut(), anew) {
            // Nor is anybody else told what it said when it still started.
            *remembered = None;
        }
        (answer, asked)
    }

    /// The same question to whoever can answer it: one that ends with its turn answers none, and has the models of another.
    fn asked_of(&self, query: Query) -> Query {
        let Query::Models { agent, anew } = &query else { return query };
        match self.config.agent(agent).and_then(|spec| spec.models_of()) {
            Some(other) => Query::Models { agent: other.into(), anew: *anew },
            None => query,
        }
    }

    /// Every agent of the table, found or not; or one of them, for which no program is started: whoever opens a session
    /// waits for it.
    async fn agents(&self, only: Option<&str>) -> Answer {
        let versions_of = match only {
            Some(_) => VersionsOf::Known,
            None => VersionsOf::All,
        };
        let is_meant = |agent: &Agent| only.is_none_or(|only| agent.name() == only);
        let mut searches = JoinSet::new();
        for (place, agent) in self.config.agents.iter().enumerate().filter(|(_, agent)| is_meant(agent)) {
            let (config, versions) = (Arc::clone(&self.config), Arc::clone(&self.versions));
            let agent = Agent::clone(agent);
            searches.spawn(async move {
                let settings = config.settings_of(&agent);
                (place, versions.describe_with(versions_of, &agent, &settings, &config.surroundings).await)
            });
        }
        let mut found = Vec::new();
        while let Some(search) = searches.join_next().await {
            found.extend(search);
        }
        found.sort_by_key(|(place, _)| *place);
        let mut agents: Vec<_> = found.into_iter().map(|(_, agent)| agent).collect();
        for agent in &mut agents {
            let remembered = self.models.get(&*agent.name).and_then(|models| models.try_lock().ok());
            if let Some(Some((_, models))) = remembered.as_deref() {
                agent.models.clone_from(models);
            }
        }
        Answer::Agents { machine: folders::machine(), agents: self.config.known.tell(agents).await }
    }

    /// Looks now. What could not be told within the deadline is told the next time.
    async fn past(&self) -> Answer {
        let _ = timeout(self.config.query_deadline * 2 / 3, self.watcher.look()).await;
        let (found, unread) = self.watcher.count();
        Answer::Past { found, unread }
    }

    fn ask(&self, agent: Agent, id: QueryId, query: Query) -> QueryProcess {
        let process = ProcessId(0);
        let (route, end) = Route::new(process, None);
        let (answers, answered) = mpsc::channel(1);
        let job = ProcessJob {
            config: Arc::clone(&self.config),
            agent,
            purpose: Purpose::Query(id, query),
            process,
            route: route.clone(),
            end,
            // It hosts no session; a route of its own making would lead nowhere.
            routes: Arc::new(Routes::default()),
            first_starts: Arc::clone(&self.first_starts),
            predecessor: None,
            deliver: Arc::new(move |message| {
                match message {
                    FromAnchor::Answer { answer, .. } => drop(answers.try_send(answer)),
                    FromAnchor::Said { .. }
                    | FromAnchor::Gone { .. }
                    | FromAnchor::Delegate { .. }
                    | FromAnchor::FoundPast { .. }
                    | FromAnchor::ReadPast { .. } => {}
                }
                Box::pin(std::future::ready(()))
            }),
        };
        QueryProcess { run: Box::pin(async { job.run().await.ending }), route, answered, ended: false }
    }
}

fn late(who: &str, deadline: Duration) -> String {
    format!("{who} did not answer within {} s", deadline.as_secs_f32())
}

/// A process that was asked something. Dropped, it is killed.
struct QueryProcess {
    run: Pin<Box<dyn Future<Output = Ending> + Send>>,
    route: Route,
    answered: mpsc::Receiver<Result<Answer, String>>,
    ended: bool,
}

impl QueryProcess {
    async fn answer(&mut self) -> Result<Answer, String> {
        tokio::select! {
            biased;
            Some(answer) = self.answered.recv() => answer,
            ending = &mut self.run => {
                self.ended = true;
                // The answer may have been its last word.
                self.answered.try_recv().unwrap_or(Err(ending.reason))
            }
        }
    }

    /// Stops it, with the same patience as any other.
    async fn dismiss(self) {
        if !self.ended {
            self.route.stop(Cause::Asked);
            self.run.await;
        }
    }
}
