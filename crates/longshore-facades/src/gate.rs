//! The one way to the hub: the hub as one caller may use it.
//!
//! A facade holds a [`Gate`] and never a bare `Hub`. Looking is for everyone who came in; whatever changes something
//! says what it takes and is refused here, so that no protocol can forget to ask.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use longshore_model::anchor::{CommandRun, Folders, RepositoryAsk, RepositoryView};
use longshore_model::approval::{AnswerAction, Decision};
use longshore_model::capability::{AgentInfo, ModelInfo};
use longshore_model::command::{Command, Reply};
use longshore_model::device::Project;
use longshore_model::frame::Frame;
use longshore_model::host_io::HostFault;
use longshore_model::id::{ApprovalId, QuestionId, Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::session::{KeyedPrompt, PromptName};
use longshore_model::time::Timestamp;
use longshore_model::timeline::Timeline;
use longshore_model::usage::DayUsage;
use longshore_session::{
    Change, Counters, HandBack, Hit, Hub, HubError, ImportRequest, ImportedPast, Inbox, Machine, OpenRequest,
    ResumedAll, RunRequest, SessionFilter, SessionPage, Stats, Subscription, WithRaw,
};
use serde_json::Value;
use tokio::sync::broadcast;

use crate::auth::{Access, Caller, Denial};
use crate::guard;
use crate::outgo::OutgoAccount;
use crate::presence::ConnectionPresence;
use crate::problem::Problem;
use crate::router::App;

/// Why the gate does not do something. A facade says it in the errors of its own protocol.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The caller may not do it.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// The hub cannot do it.
    #[error(transparent)]
    Hub(#[from] HubError),
}

/// The hub as one caller may use it.
#[derive(Clone)]
pub struct Gate {
    app: App,
    caller: Caller,
    /// How the caller addresses this hub, as in `https://hub.example`.
    base: String,
    /// The connection that the caller stays on; none when it comes and goes.
    connection: Option<Arc<ConnectionPresence>>,
}

impl Gate {
    /// For a caller that came in with these headers.
    pub(crate) fn new(app: App, caller: Caller, headers: &HeaderMap) -> Self {
        let base = base_of(&app, headers);
        Self { app, caller, base, connection: None }
    }

    /// For a connection that stays: what it says of itself ends with it.
    #[must_use]
    pub(crate) fn seated(mut self) -> Self {
        self.connection =
            Some(Arc::new(ConnectionPresence::new(Arc::clone(&self.app.presence), self.caller.device())));
        self
    }

    /// Who it is for.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) fn app(&self) -> &App {
        &self.app
    }

    /// Opens the account of outgoing bytes of one connection.
    pub(crate) fn outgo(&self) -> OutgoAccount {
        self.app.outgo.account(self.caller.device())
    }

    /// How many bytes of large answers are on their way to all clients.
    pub(crate) fn outgoing_bytes(&self) -> u64 {
        self.app.outgo.bytes() as u64
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn connection(&self) -> Option<&ConnectionPresence> {
        self.connection.as_deref()
    }

    /// Refuses what this caller may not do.
    pub fn check(&self, access: Access) -> Result<(), GateError> {
        Ok(self.app.check(&self.caller, access)?)
    }

    /// Does what this caller may do, and what may take a while before it is done; not if the caller is put out meanwhile.
    async fn act<T>(
        &self,
        access: Access,
        doing: impl Future<Output = Result<T, HubError>>,
    ) -> Result<T, GateError> {
        self.check(access)?;
        tokio::select! {
            biased;
            denial = self.caller.put_out() => Err(denial.into()),
            done = doing => Ok(done?),
        }
    }

    fn hub(&self) -> &Hub {
        &self.app.hub
    }

    fn by(&self) -> String {
        self.caller.name().to_owned()
    }
}

/// What changes something.
impl Gate {
    /// See [`Hub::open`]. Each device has keys of its own.
    pub async fn open(&self, mut request: OpenRequest) -> Result<SessionInfo, GateError> {
        let device = self.caller.device().map_or_else(|| "owner".to_owned(), |device| device.to_string());
        request.key = request.key.map(|key| format!("{device}/{key}"));
        self.act(Access::Act, self.hub().open(request)).await
    }

    /// See [`Hub::fork`].
    pub async fn fork(&self, session: SessionId, before: Option<Seq>) -> Result<SessionInfo, GateError> {
        self.act(Access::Act, self.hub().fork(session, before)).await
    }

    /// See [`Hub::command`]. What it takes depends on the command.
    pub async fn command(&self, session: SessionId, command: Command) -> Result<Reply, GateError> {
        self.command_to(std::future::ready(Ok(session)), command).await
    }

    async fn command_to(
        &self,
        session: impl Future<Output = Result<SessionId, HubError>>,
        command: Command,
    ) -> Result<Reply, GateError> {
        let access = Access::of(&command);
        self.act(access, async { self.hub().command(session.await?, command, self.by()).await }).await
    }

    /// See [`Hub::release`].
    pub async fn release(&self, session: SessionId) -> Result<Option<HandBack>, GateError> {
        self.check(Access::Act)?;
        Ok(self.hub().release(session, self.by()).await?)
    }

    /// See [`Hub::resume_all`].
    pub async fn resume_all(&self) -> Result<ResumedAll, GateError> {
        self.act(Access::Act, self.hub().resume_all(self.by())).await
    }

    /// See [`Hub::erase`].
    pub async fn erase(&self, session: SessionId) -> Result<(), GateError> {
        self.check(Access::Act)?;
        Ok(self.hub().erase(session).await?)
    }

    /// Decides an approval, whichever session it belongs to.
    pub async fn decide(
        &self,
        approval: ApprovalId,
        decision: Decision,
        message: Option<String>,
        input: Option<Value>,
    ) -> Result<Reply, GateError> {
        let command = Command::Decide { approval, decision, message, input };
        self.command_to(self.hub().asker(approval.0), command).await
    }

    /// Answers a question, whichever session it belongs to.
    pub async fn answer(
        &self,
        question: QuestionId,
        action: AnswerAction,
        answers: BTreeMap<String, Value>,
    ) -> Result<Reply, GateError> {
        let command = Command::Answer { question, action, answers };
        self.command_to(self.hub().asker(question.0), command).await
    }

    /// See [`Hub::import`].
    pub async fn import(&self, request: ImportRequest) -> Result<SessionInfo, GateError> {
        self.check(Access::Act)?;
        Ok(self.hub().import(request).await?)
    }

    /// See [`Hub::import_past`].
    pub async fn import_past(&self) -> Result<ImportedPast, GateError> {
        self.check(Access::Act)?;
        Ok(self.hub().import_past().await?)
    }

    /// See [`Hub::models_anew`]. It starts a process of the agent, so it is for those who can open a session.
    pub async fn models_anew(&self, agent: &str) -> Result<Vec<ModelInfo>, GateError> {
        self.check(Access::Act)?;
        Ok(self.hub().models_anew(agent).await?)
    }

    /// See [`Hub::put_note`].
    pub async fn put_note(&self, name: &str, value: String) -> Result<(), GateError> {
        self.act(Access::Act, self.hub().put_note(name, value)).await
    }

    /// See [`Hub::drop_note`].
    pub async fn drop_note(&self, name: &str) -> Result<bool, GateError> {
        self.act(Access::Act, self.hub().drop_note(name)).await
    }

    /// See [`Hub::folders`]. It shows more of a machine than the log does, so it is for those who can open a session.
    pub async fn folders(&self, path: Option<String>) -> Result<Folders, GateError> {
        self.check(Access::Act)?;
        Ok(self.hub().folders(path).await?)
    }

    /// See [`Hub::put_project`].
    pub async fn add_project(&self, path: &str) -> Result<Project, GateError> {
        self.act(Access::Act, self.hub().put_project(path)).await
    }

    /// See [`Hub::drop_project`].
    pub async fn remove_project(&self, path: &str) -> Result<bool, GateError> {
        self.act(Access::Act, self.hub().drop_project(path)).await
    }

    /// See [`Hub::repository`]. The repository of a session or of a project is for everyone who came in; any other
    /// shows more of a machine than the log does, so it is for those who can open a session.
    pub async fn repository(&self, cwd: String, ask: RepositoryAsk) -> Result<RepositoryView, GateError> {
        let access = match !ask.changes() && self.is_known_tree(&cwd).await? {
            true => Access::Read,
            false => Access::Act,
        };
        self.act(access, self.hub().repository(cwd, ask)).await
    }

    /// Whether a project or a session works in this folder, or in the repository of which it is a work tree.
    async fn is_known_tree(&self, cwd: &str) -> Result<bool, GateError> {
        let main = cwd.split_once("/.worktrees/").map_or(cwd, |(main, _)| main);
        let plain = !cwd.split('/').any(|part| part == "..");
        let listed = self.hub().projects().await?.into_iter().map(|project| project.path);
        let used = self.hub().recent_folders().await?;
        Ok(plain && listed.chain(used).any(|known| known == cwd || known == main))
    }

    /// See [`Hub::read_file`]. It shows more of a machine than the log does, so it is for those who can open a session.
    pub async fn read_file(
        &self,
        session: SessionId,
        path: String,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> Result<Result<String, HostFault>, GateError> {
        self.act(Access::Act, self.hub().read_file(session, path, line, limit)).await
    }

    /// See [`Hub::write_file`].
    pub async fn write_file(
        &self,
        session: SessionId,
        path: String,
        content: String,
    ) -> Result<Result<(), HostFault>, GateError> {
        self.act(Access::Act, self.hub().write_file(session, path, content)).await
    }

    /// See [`Hub::run_command`].
    pub async fn run_command(
        &self,
        session: SessionId,
        request: RunRequest,
    ) -> Result<Result<CommandRun, HostFault>, GateError> {
        self.act(Access::Act, self.hub().run_command(session, request)).await
    }

    /// See [`Hub::put_note_among`].
    pub async fn put_note_among(
        &self,
        folder: &str,
        name: &str,
        value: String,
        most: usize,
    ) -> Result<(), GateError> {
        self.act(Access::Act, self.hub().put_note_among(folder, name, value, most)).await
    }
}

/// What everyone may who came in.
impl Gate {
    /// See [`Hub::projects`].
    pub async fn projects(&self) -> Result<Vec<Project>, GateError> {
        Ok(self.hub().projects().await?)
    }

    /// The time of the hub.
    pub fn now(&self) -> Timestamp {
        self.hub().now()
    }

    /// See [`Hub::machines`].
    pub async fn machines(&self) -> Result<Vec<Machine>, GateError> {
        Ok(self.hub().machines().await?)
    }

    /// See [`Hub::agents`].
    pub async fn agents(&self) -> Result<Vec<AgentInfo>, GateError> {
        Ok(self.hub().agents().await?)
    }

    /// See [`Hub::models`].
    pub async fn models(&self, agent: &str) -> Result<Vec<ModelInfo>, GateError> {
        Ok(self.hub().models(agent).await?)
    }

    /// See [`Hub::is_work_tree`], for the folders of sessions.
    pub async fn is_work_tree(&self, cwd: &str) -> bool {
        self.hub().is_work_tree(cwd).await
    }

    /// See [`Hub::new_session`].
    pub fn new_session(&self) -> SessionId {
        self.hub().new_session()
    }

    /// See [`Hub::note`].
    pub async fn note(&self, name: &str) -> Result<Option<String>, GateError> {
        Ok(self.hub().note(name).await?)
    }

    /// See [`Hub::recent_folders`].
    pub async fn recent_folders(&self) -> Result<Vec<String>, GateError> {
        Ok(self.hub().recent_folders().await?)
    }

    /// See [`Hub::notes`].
    pub async fn notes(&self, prefix: &str) -> Result<Vec<(String, String)>, GateError> {
        Ok(self.hub().notes(prefix).await?)
    }

    /// See [`Hub::session`].
    pub async fn session(&self, session: SessionId) -> Result<SessionInfo, GateError> {
        Ok(self.hub().session(session).await?)
    }

    /// See [`Hub::keyed_prompt`].
    pub async fn keyed_prompt(
        &self,
        session: SessionId,
        name: PromptName,
    ) -> Result<Option<KeyedPrompt>, GateError> {
        Ok(self.hub().keyed_prompt(session, name).await?)
    }

    /// See [`Hub::sessions`].
    pub async fn sessions(&self, filter: SessionFilter) -> Result<SessionPage, GateError> {
        Ok(self.hub().sessions(filter).await?)
    }

    /// See [`Hub::events`].
    pub async fn events(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
        raw: WithRaw,
    ) -> Result<Vec<Frame>, GateError> {
        Ok(self.hub().events(session, after, limit, raw).await?)
    }

    /// See [`Hub::subscribe`].
    pub async fn subscribe(
        &self,
        session: SessionId,
        after: Seq,
        raw: WithRaw,
    ) -> Result<Subscription, GateError> {
        Ok(self.hub().subscribe(session, after, raw).await?)
    }

    /// See [`Hub::timeline`].
    pub async fn timeline(&self, session: SessionId) -> Result<Arc<Timeline>, GateError> {
        Ok(self.hub().timeline(session).await?)
    }

    /// See [`Hub::inbox`].
    pub async fn inbox(&self) -> Result<Inbox, GateError> {
        Ok(self.hub().inbox().await?)
    }

    /// See [`Hub::search`].
    pub async fn search(&self, query: String, limit: usize) -> Result<Vec<Hit>, GateError> {
        Ok(self.hub().search(query, limit).await?)
    }

    /// See [`Hub::hand_back`].
    pub async fn hand_back(&self, session: SessionId) -> Result<Option<HandBack>, GateError> {
        Ok(self.hub().hand_back(session).await?)
    }

    /// See [`Hub::changes`].
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.hub().changes()
    }

    /// What was used within so many days.
    pub async fn usage(&self, days: u32) -> Result<Vec<DayUsage>, GateError> {
        let since = self.hub().now().plus_millis(-i64::from(days) * 24 * 3600 * 1_000);
        Ok(self.hub().usage(since).await?)
    }

    /// See [`Hub::stats`].
    pub async fn stats(&self) -> Result<Stats, GateError> {
        Ok(self.hub().stats().await?)
    }

    /// See [`Hub::counters`].
    pub fn counters(&self) -> &Counters {
        self.hub().counters()
    }

    /// See [`Hub::awake_sessions`].
    pub fn awake_sessions(&self) -> usize {
        self.hub().awake_sessions()
    }
}

/// The address under which others reach the hub too: the page's own, the caller's, or, for who asks from this very
/// machine, the public one.
fn base_of(app: &App, headers: &HeaderMap) -> String {
    let text = |name| headers.get(name).and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
    let scheme = if app.secure() { "https" } else { "http" };
    let (host, base) = match (text(header::ORIGIN), text(header::HOST).unwrap_or("localhost")) {
        (Some(origin), _) => (guard::host_of(origin), origin.to_owned()),
        (None, host) => (host, format!("{scheme}://{host}")),
    };
    match app.addresses.first() {
        Some(public) if guard::is_loopback(host) => public.clone(),
        Some(_) | None => base,
    }
}

impl FromRequestParts<App> for Gate {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Caller>().cloned().ok_or_else(Problem::no_token)?;
        Ok(Gate::new(app.clone(), caller, &parts.headers))
    }
}
