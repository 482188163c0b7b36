//! Questions of the hub that concern no session. The answers come from the disk, from memory, or from a
//! process that the anchor starts.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use longshore_model::anchor::{
    AgentQuestion, Answer, CommandRun, FromAnchor, Machine, ModelsQuery, PastCount, Query, RepositoryQuery,
    RepositoryView, RunQuery,
};
use longshore_model::capability::ModelInfo;
use longshore_model::host_io::HostFault;
use longshore_model::id::QueryId;
use longshore_model::lifecycle::GitState;
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
use crate::host_io::of_clients;
use crate::import::Watcher;
use crate::spec::Agent;

/// The most processes that answer questions at the same time. Further questions wait, and their deadlines run
/// meanwhile.
const AT_ONCE: usize = 4;

const SHUTTING_DOWN: &str = "shutting down";

/// The most work trees that git examines at the same time. Many turns may end at the same moment, and too
/// many `git`s would take the processors away from working agents.
const LOOKS_AT_ONCE: usize = 2;

/// The most commands of clients at the same time. Further ones are refused.
const RUNS_AT_ONCE: usize = 4;

/// The channel of an answer.
type Answered = oneshot::Receiver<Result<Answer, String>>;

/// The models of an agent, and until when the anchor trusts them.
type Remembered = Mutex<Option<(Instant, Vec<ModelInfo>)>>;

pub(crate) struct Queries {
    config: Arc<AnchorConfig>,
    first_starts: Arc<FirstStarts>,
    versions: Arc<Versions>,
    watcher: Arc<Watcher>,
    models: BTreeMap<String, Remembered>,
    slots: Semaphore,
    looks: Semaphore,
    runs: Semaphore,
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
        let runs = Semaphore::new(RUNS_AT_ONCE);
        Self { config, first_starts, versions: Arc::default(), watcher, models, slots, looks, runs, deliver }
    }

    /// The agent whose shared process must answer this question, unless the answer is known.
    pub(crate) fn shared_agent(&self, question: &AgentQuestion) -> Option<Agent> {
        let known = match question {
            // A new process answers this question, because a running one does not show whether another would
            // start.
            AgentQuestion::Models(ModelsQuery { anew: true, .. }) => return None,
            AgentQuestion::Models(ModelsQuery { agent, .. }) => {
                let remembered = self.models.get(&**agent)?.try_lock().ok();
                remembered
                    .is_some_and(|models| models.as_ref().is_some_and(|(until, _)| Instant::now() < *until))
            }
            AgentQuestion::Sessions(_) | AgentQuestion::Messages(_) => false,
        };
        self.config.agent(question.agent()).filter(|agent| agent.shared() && !known).cloned()
    }

    /// Answers a question within its deadline. If a shared process was already asked, its answer comes
    /// through `asked`.
    pub(crate) async fn answer(&self, id: QueryId, query: Query, asked: Option<Answered>) {
        let answer = match query {
            Query::Agent(question) => return self.answer_of_agent(id, question, asked).await,
            Query::Agents(query) => {
                let agents = async { Ok(self.agents(query.only.as_deref()).await) };
                self.in_time("the search for agents", agents).await.map(Answer::Agents)
            }
            Query::Git(query) => self.in_time("git", self.git(&query.cwd)).await.map(Answer::Git),
            Query::Past(_) => {
                let count = async { Ok(self.past().await) };
                self.in_time("the search for past conversations", count).await.map(Answer::Past)
            }
            Query::RecordSize(query) => {
                let size = async { Ok(self.watcher.size(&query.agent, query.native).await) };
                self.in_time("the search for past conversations", size).await.map(Answer::RecordSize)
            }
            Query::WorkTree(query) => {
                let fault = async { Ok(folders::work_tree(&query.path).await) };
                self.in_time("the disk", fault).await.map(Answer::WorkTree)
            }
            Query::Folders(query) => {
                self.in_time("the disk", folders::look_into(query.path)).await.map(Answer::Folders)
            }
            Query::Repository(query) => {
                self.in_time("git", self.repository(query)).await.map(Answer::Repository)
            }
            Query::File(query) => {
                let read = async { Ok(of_clients::read(query).await) };
                self.in_time("the disk", read).await.map(Answer::File)
            }
            Query::WriteFile(query) => {
                let written = async { Ok(of_clients::write(query).await) };
                self.in_time("the disk", written).await.map(Answer::WriteFile)
            }
            // A command has a deadline of its own.
            Query::Run(query) => Ok(Answer::Run(self.run(query).await)),
        };
        (self.deliver)(FromAnchor::Answer { id, answer }).await;
    }

    async fn in_time<T>(
        &self,
        who: &str,
        found: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let deadline = self.config.query_deadline;
        timeout(deadline, found).await.unwrap_or_else(|_| Err(late(who, deadline)))
    }

    async fn git(&self, cwd: &str) -> Result<Option<GitState>, String> {
        let _look = self.looks.acquire().await.map_err(|_| SHUTTING_DOWN.to_owned())?;
        Ok(self.config.git.look_at(cwd).await)
    }

    async fn repository(&self, query: RepositoryQuery) -> Result<RepositoryView, String> {
        let _look = self.looks.acquire().await.map_err(|_| SHUTTING_DOWN.to_owned())?;
        self.config.git.answer(query.cwd, query.ask).await
    }

    async fn run(&self, query: RunQuery) -> Result<CommandRun, HostFault> {
        let Ok(_place) = self.runs.try_acquire() else {
            let text = format!("{RUNS_AT_ONCE} commands of clients already run; wait for one to end");
            return Err(HostFault::Busy(text));
        };
        of_clients::run(query, self.config.mark.under()).await
    }

    async fn answer_of_agent(&self, id: QueryId, question: AgentQuestion, asked: Option<Answered>) {
        let deadline = self.config.query_deadline;
        let agent = Arc::clone(question.agent());
        let found = timeout(deadline, self.find(id, question, asked)).await;
        let (answer, asked) = found.unwrap_or_else(|_| (Err(late(&agent, deadline)), None));
        (self.deliver)(FromAnchor::Answer { id, answer }).await;
        // The answer goes out first, so that nobody waits for the end of the process.
        if let Some(asked) = asked {
            asked.dismiss().await;
        }
    }

    async fn find(
        &self,
        id: QueryId,
        question: AgentQuestion,
        shared: Option<Answered>,
    ) -> (Result<Answer, String>, Option<QueryProcess>) {
        let question = self.asked_of(question);
        let name = question.agent();
        let (Some(agent), Some(models)) = (self.config.agent(name), self.models.get(&**name)) else {
            return (Err(self.config.unknown_agent(name)), None);
        };
        let (mut remembered, anew) = match &question {
            // Whoever asks for the same models waits here for the answer to the first question.
            AgentQuestion::Models(query) => (Some(models.lock().await), query.anew),
            AgentQuestion::Sessions(_) | AgentQuestion::Messages(_) => (None, false),
        };
        if let Some(Some((until, models))) = remembered.as_deref()
            && Instant::now() < *until
            && !anew
        {
            return (Ok(Answer::Models(models.clone())), None);
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
                let mut asked = self.ask(Agent::clone(agent), id, question);
                (asked.answer().await, Some(asked))
            }
        };
        if let (Some(remembered), Ok(Answer::Models(models))) = (remembered.as_deref_mut(), &answer) {
            *remembered = Some((Instant::now() + self.config.models_believed, models.clone()));
        } else if let (Some(remembered), true) = (remembered.as_deref_mut(), anew) {
            // The agent does not start, so the models that it reported earlier no longer count.
            *remembered = None;
        }
        (answer, asked)
    }

    /// The agent that can answer the question. An agent with one process per turn answers none, and has the
    /// models of another agent.
    fn asked_of(&self, question: AgentQuestion) -> AgentQuestion {
        let AgentQuestion::Models(ModelsQuery { agent, anew }) = &question else { return question };
        match self.config.agent(agent).and_then(|spec| spec.models_of()) {
            Some(other) => ModelsQuery { agent: other.into(), anew: *anew }.into(),
            None => question,
        }
    }

    /// Every agent of the table, installed or not. With `only`: one agent, for which the anchor starts no
    /// program, because a person who opens a session waits.
    async fn agents(&self, only: Option<&str>) -> Machine {
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
        Machine { name: folders::machine(), agents: self.config.annotations.add_to(agents).await }
    }

    /// Looks for conversations now. What the anchor cannot report within the deadline, it reports the next
    /// time.
    async fn past(&self) -> PastCount {
        let _ = timeout(self.config.query_deadline * 2 / 3, self.watcher.look()).await;
        let (found, unread) = self.watcher.count();
        PastCount { found, unread }
    }

    fn ask(&self, agent: Agent, id: QueryId, question: AgentQuestion) -> QueryProcess {
        let process = ProcessId(0);
        let (route, end) = Route::new(process, None);
        let (answers, answered) = mpsc::channel(1);
        let job = ProcessJob {
            config: Arc::clone(&self.config),
            agent,
            purpose: Purpose::Query(id, question),
            process,
            route: route.clone(),
            end,
            // The process hosts no session, so it needs no routes of the anchor.
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

/// A process that answers a question. Dropping it kills the process.
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
                // The process may have answered right before its end.
                self.answered.try_recv().unwrap_or(Err(ending.reason))
            }
        }
    }

    /// Stops the process, with the same patience as other processes.
    async fn dismiss(self) {
        if !self.ended {
            self.route.stop(Cause::Asked);
            self.run.await;
        }
    }
}
