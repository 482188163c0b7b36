//! A hub with a made-up anchor behind the real facade: the test is the agent, and its clients come over sockets.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use longshore_facades::auth::{Keep, Owner, Token};
use longshore_facades::guard::HostNames;
use longshore_facades::mobile::ServerKey;
use longshore_facades::push::{Outlet, Vapid};
use longshore_facades::tls::Tls;
use longshore_facades::{App, Setup, Storage, serve};
use longshore_log::{MemoryLog, Stores};
use longshore_model::anchor::{
    AgentQuestion, Answer, ChangedFile, CommandRun, FileQuery, FileWrite, Folders, FoldersQuery, FromAnchor,
    GitCommit, GitWorkTree, Launch, Machine, PastCount, Query, RepositoryAsk, RepositoryQuery,
    RepositoryView, RunQuery, ToAnchor, WorkTreeQuery, WorkTreeStatus,
};
use longshore_model::approval::{ApprovalRequest, Decision, QuestionRequest, Subject};
use longshore_model::capability::{AgentInfo, Capabilities, Mode, ModelInfo};
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft};
use longshore_model::host_io::{Exit, HostFault};
use longshore_model::id::{ApprovalId, Context, Ids, ItemId, QuestionId, SessionId, TurnId};
use longshore_model::lifecycle::{Ready, Sleep, TurnEnd, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_session::{Hub, OpenRequest};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};

use crate::http::Call;
use crate::socket::{Socket, allowed, open_over};

/// Longer than anything here takes, so that a fault ends in a message and not in a wait.
pub(crate) const WITHIN: Duration = Duration::from_secs(120);
/// The owner's token: with signs that an address has to escape.
pub(crate) const TOKEN: &str = "s3cret+/=&%";

/// The origin of pages of others that may use the facades.
pub(crate) const PAGE: &str = "https://app.example:8443";

/// Waits, and says what for when it takes too long.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(WITHIN, future).await {
        Ok(value) => value,
        Err(_) => panic!("it took too long: {what}"),
    }
}

pub(crate) struct Rig {
    pub(crate) hub: Hub,
    pub(crate) at: SocketAddr,
    /// What the agents are told; questions are answered before they get here.
    told: mpsc::UnboundedReceiver<ToAnchor>,
    /// Whether the anchor answers questions. While it does not, whoever asks one waits.
    pub(crate) answering: watch::Sender<bool>,
    ids: Ids,
    /// The tokens of the owner that were kept for the next start.
    pub(crate) kept: Arc<Mutex<Vec<String>>>,
    /// Whether there is room to keep them.
    pub(crate) keeps: Arc<AtomicBool>,
    _stop: oneshot::Sender<()>,
}

/// The agent that is here and tells nothing.
const MUTE: &str = "mute";

fn agents() -> Vec<AgentInfo> {
    let agent = |name: &str, path: Option<&str>, capabilities| AgentInfo {
        name: name.into(),
        title: name.to_owned(),
        path: path.map(str::to_owned),
        version: None,
        install: format!("get {name}"),
        login: None,
        logged_in: None,
        resume: None,
        remark: None,
        verified: None,
        capabilities,
        models: Vec::new(),
    };
    let able = Capabilities {
        attachments: true,
        fork: true,
        steer: true,
        models: true,
        effort: true,
        modes: vec![Mode::Plan, Mode::Ask, Mode::Full],
        ..Capabilities::default()
    };
    let guessed = Capabilities {
        custom: [(Capabilities::GUESSED_MODES.to_owned(), true.into())].into(),
        ..able.clone()
    };
    vec![
        agent("codex", Some("/bin/codex"), able),
        agent("plain", Some("/bin/plain"), Capabilities::default()),
        agent("ghost", None, Capabilities::default()),
        agent(MUTE, Some("/bin/mute"), guessed),
    ]
}

fn answer(query: &Query) -> Result<Answer, String> {
    match query {
        Query::Agents(_) => Ok(Answer::Agents(Machine { name: "here".to_owned(), agents: agents() })),
        Query::Agent(AgentQuestion::Models(query)) if &*query.agent == MUTE => {
            Err("mute did not answer within 15 s".to_owned())
        }
        Query::Agent(AgentQuestion::Models(_)) => {
            let model = ModelInfo {
                id: "large".to_owned(),
                title: "Large".to_owned(),
                description: String::new(),
                default: true,
                efforts: vec!["low".to_owned(), "high".to_owned()],
            };
            Ok(Answer::Models(vec![model]))
        }
        Query::Past(_) => Ok(Answer::Past(PastCount { found: 3, unread: 1 })),
        Query::WorkTree(WorkTreeQuery { path }) => {
            let fault = (path == "/nowhere").then(|| "it does not exist".to_owned());
            Ok(Answer::WorkTree(fault))
        }
        Query::RecordSize(_) => Ok(Answer::RecordSize(None)),
        Query::Folders(FoldersQuery { path }) if path.as_deref() == Some("boat") => {
            Err("`boat` is not an absolute path".to_owned())
        }
        Query::Folders(FoldersQuery { path }) => {
            let path = path.clone().unwrap_or_else(|| "/home/dev".to_owned());
            Ok(Answer::Folders(Folders { path, parent: None, folders: vec!["boat".to_owned()] }))
        }
        Query::Repository(query) => repository(query),
        Query::File(FileQuery { path, .. }) => Ok(Answer::File(match path.as_str() {
            "boat.txt" => Ok("oars\n".to_owned()),
            "large.txt" => Ok("\u{1}".repeat(200_000)),
            _ => Err(HostFault::Missing(path.clone())),
        })),
        Query::WriteFile(FileWrite { path, .. }) => Ok(Answer::WriteFile(match path.as_str() {
            "boat.txt" => Ok(()),
            _ => Err(HostFault::Outside(path.clone())),
        })),
        Query::Run(RunQuery { command, arguments, .. }) => {
            let output = [vec![command.clone()], arguments.clone()].concat().join(" ");
            let exit = Exit { code: Some(7), signal: None };
            Ok(Answer::Run(Ok(CommandRun { output, exit, ..CommandRun::default() })))
        }
        Query::Git(_) | Query::Agent(AgentQuestion::Sessions(_) | AgentQuestion::Messages(_)) => {
            Err("not here".to_owned())
        }
    }
}

/// A repository with one file that differs.
fn repository(query: &RepositoryQuery) -> Result<Answer, String> {
    let tree = |path: String, branch: &str, main| GitWorkTree {
        path,
        branch: Some(branch.to_owned()),
        main,
        merged: false,
    };
    let view = match &query.ask {
        RepositoryAsk::Status => RepositoryView::Status(WorkTreeStatus {
            branch: Some("main".to_owned()),
            ahead: 1,
            behind: 2,
            files: [("a.rs", " M"), ("b.rs", "??"), ("c.rs", "UU"), ("d.rs", "A ")]
                .map(|(path, state)| ChangedFile { path: path.to_owned(), state: state.to_owned() })
                .into(),
        }),
        RepositoryAsk::Diff { file } => RepositoryView::Diff(format!("diff of {file:?}")),
        RepositoryAsk::Log { limit } => RepositoryView::Log(vec![GitCommit {
            hash: "1f2e3d".to_owned(),
            short: "1f2e".to_owned(),
            parents: vec!["0a".to_owned()],
            subject: format!("first of {limit}"),
            author: "Ada".to_owned(),
            ago: "2 days ago".to_owned(),
            refs: vec!["main".to_owned()],
        }]),
        RepositoryAsk::WorkTrees | RepositoryAsk::RemoveWorkTree { .. } => {
            RepositoryView::WorkTrees(vec![tree(query.cwd.clone(), "main", true)])
        }
        RepositoryAsk::AddWorkTree { branch } if branch == "-x" => {
            return Err("no name of a branch".to_owned());
        }
        RepositoryAsk::AddWorkTree { branch } => RepositoryView::WorkTrees(vec![
            tree(query.cwd.clone(), "main", true),
            tree(format!("{}/.worktrees/{branch}", query.cwd), branch, false),
        ]),
    };
    Ok(Answer::Repository(view))
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::over(Arc::new(MemoryLog::default()), None).await
    }

    /// With an app that is made of the usual one.
    pub(crate) async fn with(change: impl FnOnce(App) -> App) -> Self {
        Self::made(Arc::new(MemoryLog::default()), None, |_| {}, change).await
    }

    /// With another setup than the usual one.
    pub(crate) async fn set_up(change: impl FnOnce(&mut Setup)) -> Self {
        Self::made(Arc::new(MemoryLog::default()), None, change, |app| app).await
    }

    pub(crate) async fn over(stores: impl Into<Stores>, tls: Option<Tls>) -> Self {
        Self::made(stores, tls, |_| {}, |app| app).await
    }

    async fn made(
        stores: impl Into<Stores>,
        tls: Option<Tls>,
        set: impl FnOnce(&mut Setup),
        change: impl FnOnce(App) -> App,
    ) -> Self {
        let hub = Hub::new(stores);
        let (to_anchor, mut from_hub) = mpsc::channel(256);
        let (tell, told) = mpsc::unbounded_channel();
        let (answering, mut may_answer) = watch::channel(true);
        hub.attach(to_anchor);
        let answers = hub.clone();
        tokio::spawn(async move {
            while let Some(message) = from_hub.recv().await {
                match message {
                    ToAnchor::Ask { id, query } => {
                        if may_answer.wait_for(|may| *may).await.is_err() {
                            return;
                        }
                        answers.deliver(FromAnchor::Answer { id, answer: answer(&query) }).await;
                    }
                    other => drop(tell.send(other)),
                }
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (kept, keeps) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(true)));
        let keep: Keep = Box::new({
            let (kept, keeps) = (Arc::clone(&kept), Arc::clone(&keeps));
            move |token| {
                if !keeps.load(Ordering::SeqCst) {
                    return Err(std::io::ErrorKind::StorageFull.into());
                }
                kept.lock().unwrap().push(token.reveal().to_owned());
                Ok(())
            }
        });
        let mut setup = Setup {
            mobile_key: ServerKey::fleeting().unwrap(),
            owner: Owner { token: Token::new(TOKEN), keep: Some(keep) },
            names: HostNames::also(["hub.example".to_owned()]).with_pages_of([PAGE.to_owned()]),
            vapid: Vapid::fleeting("mailto:owner@example.com").unwrap(),
            outlet: Outlet::Loopback,
            tls,
            web: &[],
            web_dir: None,
            storage: Storage::default(),
        };
        set(&mut setup);
        let app = App::open(hub.clone(), setup).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(serve(listener, change(app), async { drop(stopped.await) }));
        Self { hub, at, told, answering, ids: Ids::seeded(9), kept, keeps, _stop: stop }
    }

    /// A request with the token.
    pub(crate) fn call(&self, method: &'static str, path: impl Into<String>) -> Call {
        self.bare(method, path).header("authorization", format!("Bearer {TOKEN}"))
    }

    /// A request without one.
    pub(crate) fn bare(&self, method: &'static str, path: impl Into<String>) -> Call {
        Call::new(self.at, method, path)
    }

    pub(crate) async fn get(&self, path: impl Into<String>) -> crate::http::Reply {
        self.call("GET", path).send().await
    }

    pub(crate) async fn socket(&self) -> Socket {
        Socket::connect(self.at).await
    }

    /// A connection with room for a few KB.
    pub(crate) async fn narrow(&self) -> TcpStream {
        let narrow = TcpSocket::new_v4().unwrap();
        narrow.set_recv_buffer_size(4_096).unwrap();
        narrow.connect(self.at).await.unwrap()
    }

    pub(crate) async fn narrow_socket(&self) -> Socket {
        open_over(self.narrow().await, allowed(self.at)).await.unwrap()
    }

    /// The bare connection of a socket that was opened.
    pub(crate) async fn raw_socket(&self, token: &str) -> TcpStream {
        let mut tcp = TcpStream::connect(self.at).await.unwrap();
        let head = format!(
            "GET /api/v1/socket HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\nconnection: upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            self.at
        );
        tcp.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            assert_eq!(soon("the socket opens", tcp.read(&mut byte)).await.unwrap(), 1, "{answer:?}");
            answer.push(byte[0]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
        tcp
    }

    pub(crate) async fn open(&mut self) -> (SessionId, Launch) {
        self.open_with("codex").await
    }

    pub(crate) async fn open_with(&mut self, agent: &str) -> (SessionId, Launch) {
        let (agent, cwd) = (agent.to_owned(), "/w".to_owned());
        let session = self.hub.open(OpenRequest { agent, cwd, ..OpenRequest::default() }).await.unwrap();
        (session.session_id, self.launched().await)
    }

    /// A session whose agent listens.
    pub(crate) async fn ready(&mut self) -> SessionId {
        let (session, _) = self.open().await;
        self.is_ready(session).await;
        session
    }

    pub(crate) async fn is_ready(&self, session: SessionId) {
        let native = format!("thread-{session}");
        let ready = Ready { native: Some(native), version: None, model: None, transcript: None };
        self.say(session, vec![Draft::new(Body::SessionReady(ready))]).await;
        self.hub.settle().await;
    }

    /// A session in the middle of a turn.
    pub(crate) async fn working(&mut self) -> (SessionId, TurnId) {
        let session = self.ready().await;
        let path = format!("/api/v1/sessions/{session}/prompts");
        let reply = self.call("POST", path).json(&json!({ "content": "go" })).send().await;
        assert_eq!(reply.status, 202, "{}", reply.text());
        match self.command().await {
            AgentCommand::Prompt { turn, .. } => (session, turn),
            other => panic!("instead of a prompt: {other:?}"),
        }
    }

    pub(crate) async fn say(&self, session: SessionId, drafts: Vec<Draft>) {
        self.hub.deliver(FromAnchor::Said { session, drafts }).await;
    }

    /// A whole message of the agent.
    pub(crate) async fn message(&mut self, session: SessionId, turn: TurnId, text: &str) {
        let done = Body::MessageDone { phase: None, partial: false };
        let item = self.item();
        self.say(session, vec![Draft::new(done).turn(turn).item(item).text(text)]).await;
        self.hub.settle().await;
    }

    pub(crate) async fn finish(&self, session: SessionId, turn: TurnId) {
        let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Completed));
        self.say(session, vec![Draft::new(end).turn(turn)]).await;
        self.hub.settle().await;
    }

    pub(crate) async fn gone(&self, session: SessionId) {
        let (sleep, reason) = (Sleep::default(), "it died".to_owned());
        self.hub.deliver(FromAnchor::Gone { session, sleep, reason }).await;
        self.hub.settle().await;
    }

    /// The agent asks for a yes.
    pub(crate) async fn approval(&mut self, session: SessionId, turn: TurnId) -> ApprovalId {
        let approval = ApprovalId::mint(&mut self.context());
        let subject = Subject::Command { command: "make".to_owned(), cwd: None, always: Vec::new() };
        let options = vec![Decision::AllowOnce, Decision::Deny];
        let request = Body::ApprovalRequested(ApprovalRequest { approval, subject, options });
        self.say(session, vec![Draft::new(request).turn(turn).text("to build it")]).await;
        self.hub.settle().await;
        approval
    }

    /// The agent wants to know something.
    pub(crate) async fn question(
        &mut self,
        session: SessionId,
        turn: TurnId,
        fields: serde_json::Value,
    ) -> QuestionId {
        let question = QuestionId::mint(&mut self.context());
        let fields = serde_json::from_value(fields).unwrap();
        let request = Body::QuestionAsked(QuestionRequest { question, source: None, fields });
        self.say(session, vec![Draft::new(request).turn(turn).text("which one?")]).await;
        self.hub.settle().await;
        question
    }

    pub(crate) fn context(&mut self) -> Context<'_> {
        Context { now: Timestamp::from_micros(1), ids: &mut self.ids }
    }

    pub(crate) fn item(&mut self) -> ItemId {
        ItemId::mint(&mut self.context())
    }

    /// The next thing that an agent is told.
    pub(crate) async fn told(&mut self) -> ToAnchor {
        soon("an agent is told something", self.told.recv()).await.unwrap()
    }

    pub(crate) async fn launched(&mut self) -> Launch {
        match self.told().await {
            ToAnchor::Open(launch) => launch,
            other => panic!("instead of a launch: {other:?}"),
        }
    }

    pub(crate) async fn command(&mut self) -> AgentCommand {
        match self.told().await {
            ToAnchor::Tell { command, .. } => command,
            other => panic!("instead of a command: {other:?}"),
        }
    }

    /// Whatever the agents were told and nobody has looked at.
    pub(crate) fn left(&mut self) -> Vec<ToAnchor> {
        std::iter::from_fn(|| self.told.try_recv().ok()).collect()
    }
}
