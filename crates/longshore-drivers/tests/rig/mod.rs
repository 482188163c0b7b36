//! What the tests share: where the fake agent is, a driver for it, and an anchor whose words can be waited for.

pub(crate) mod caller;
pub(crate) mod server;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use longshore_drivers::anchor::{Anchor, AnchorConfig, Deliver};
use longshore_drivers::discover::{AgentSettings, Finding, Surroundings};
use longshore_drivers::spec::{Agent, AgentSpec, Invocation, Purpose};
use longshore_drivers::transport::Limits;
use longshore_model::anchor::{
    AgentQuestion, Answer, FromAnchor, Launch, Query, SessionsQuery, Start, ToAnchor,
};
use longshore_model::capability::{Capabilities, Mode, ModelInfo};
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{Context, Ids, PromptId, QueryId, SessionId, TurnId};
use longshore_model::lifecycle::{Ready, Sleep};
use longshore_model::time::Timestamp;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};

/// How long a test waits for anything before it fails. Nothing takes this long when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The future, or a failed test.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

pub(crate) fn fake_agent() -> PathBuf {
    example("fake-agent")
}

pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "build it first: cargo build -p longshore-drivers --examples");
    path
}

/// Times that run out only for what is supposed to time out.
pub(crate) fn hasty() -> Limits {
    let soon = Duration::from_millis(100);
    Limits { after_eof: soon, after_term: soon, after_exit: soon, stuck: soon, ..patient() }
}

/// Times that never run out while all is well, however busy the machine.
pub(crate) fn patient() -> Limits {
    Limits {
        after_eof: PATIENCE,
        after_term: PATIENCE,
        after_exit: PATIENCE,
        stuck: PATIENCE,
        start: PATIENCE,
        answer: PATIENCE,
        silence: PATIENCE,
        attach: PATIENCE,
        ..Limits::default()
    }
}

/// An agent that is there, and one that is not.
pub(crate) fn agents() -> Vec<Agent> {
    vec![Arc::new(Fake), Arc::new(Absent)]
}

#[derive(Debug)]
struct Fake;

impl AgentSpec for Fake {
    fn name(&self) -> &str {
        "fake"
    }

    fn title(&self) -> &str {
        "Fake"
    }

    fn install(&self) -> &str {
        "make fake"
    }

    fn tested(&self) -> Option<&str> {
        Some("1.2.2")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn find(&self, settings: &AgentSettings, _: &Surroundings) -> Finding {
        Finding { path: settings.path.clone(), remark: None }
    }

    fn invocation(&self, _: Purpose<'_>) -> Invocation {
        Invocation::default()
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Parrot::default())
    }
}

#[derive(Debug)]
struct Absent;

impl AgentSpec for Absent {
    fn name(&self) -> &str {
        "absent"
    }

    fn title(&self) -> &str {
        "Absent"
    }

    fn install(&self) -> &str {
        "make absent"
    }

    fn login(&self) -> Option<&str> {
        Some("absent login")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn find(&self, _: &AgentSettings, _: &Surroundings) -> Finding {
        Finding::default()
    }

    fn invocation(&self, _: Purpose<'_>) -> Invocation {
        Invocation::default()
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Parrot::default())
    }
}

/// Turns every line into a delta of a message, and obeys some.
#[derive(Default)]
struct Parrot {
    session: Option<SessionId>,
    child: Option<SessionId>,
    asked: Option<QueryId>,
    deadline: Option<Timestamp>,
}

impl Driver for Parrot {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::WorkDone { .. } => {}
            Input::Open(launch) => {
                self.session = Some(launch.session);
                // A model called `none` stands for an agent that never gets as far as to listen.
                if launch.model.is_none() {
                    let ready =
                        Ready { native: Some("n".to_owned()), version: None, model: None, transcript: None };
                    out.say(launch.session, Draft::new(Body::SessionReady(ready)));
                }
            }
            Input::Ask { id, query } => {
                self.asked = Some(id);
                out.lines.push(match query {
                    AgentQuestion::Messages(_) => panic!("agents are not asked for this"),
                    AgentQuestion::Models(_) => "models".to_owned(),
                    AgentQuestion::Sessions(SessionsQuery { limit, .. }) => format!("sessions {limit}"),
                });
            }
            Input::Line(raw) => self.line(&raw, cx, out),
            Input::Garbled { text, fault } => {
                let body = Body::Raw { kind: "garbled".to_owned(), fault: Some(fault) };
                out.say(self.session.unwrap(), Draft::new(body).text(text.len().to_string()).raw(text));
            }
            Input::Tell { session, command } => {
                let word = match command {
                    AgentCommand::Prompt { text, .. } => text,
                    AgentCommand::Interrupt { .. } => "interrupt".to_owned(),
                    other => format!("{other:?}"),
                };
                let from = if Some(session) == self.child { "child: " } else { "" };
                out.lines.push(format!("{from}{word}"));
            }
            Input::Http(_) | Input::Close { .. } | Input::Ended { .. } => {}
            Input::Tick => {
                self.deadline = None;
                out.say(
                    self.session.unwrap(),
                    Draft::new(Body::Notice { level: NoticeLevel::Info }).text("tick"),
                );
            }
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }
}

impl Parrot {
    fn line(&mut self, raw: &Arc<str>, cx: &mut Context<'_>, out: &mut Output) {
        if let Some(id) = self.asked {
            let model = ModelInfo {
                id: raw.to_string(),
                title: String::new(),
                description: String::new(),
                default: true,
                efforts: Vec::new(),
            };
            let answer = match raw.strip_prefix("no ") {
                Some(why) => Err(why.to_owned()),
                None => Ok(Answer::Models(vec![model])),
            };
            return out.answers.push((id, answer));
        }
        let session = self.session.unwrap();
        let delta = Draft::new(Body::MessageDelta).text(&**raw).raw(Arc::clone(raw));
        match &**raw {
            "child" => {
                let child = *self.child.get_or_insert_with(|| SessionId::mint(cx));
                out.say(child, delta);
            }
            "tick" => {
                self.deadline = Some(cx.now.plus_millis(1));
                out.say(session, delta);
            }
            "panic" => {
                out.say(session, Draft::new(Body::MessageDelta).text("before"));
                panic!("the parrot fell off");
            }
            "finish" => out.finished = Some("the parrot is done".to_owned()),
            _ => out.say(session, delta),
        }
    }
}

/// An anchor, and what it says.
pub(crate) struct Rig {
    pub(crate) anchor: Anchor,
    pub(crate) said: mpsc::Receiver<FromAnchor>,
    /// Told when an agent has to wait for room.
    pub(crate) full: Arc<Notify>,
    /// A session that takes nothing.
    pub(crate) deaf: Arc<OnceLock<SessionId>>,
    ids: Ids,
    folder: tempfile::TempDir,
}

/// What a session's agent said until it was gone.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) messages: usize,
    pub(crate) sleep: Sleep,
    pub(crate) reason: String,
}

impl Life {
    /// The texts of the drafts that have one.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.drafts.iter().filter_map(|draft| draft.text.as_deref()).collect()
    }
}

impl Rig {
    pub(crate) fn new(script: Value) -> Self {
        Self::with(script, 64, |_| {})
    }

    /// For agents that have to be stopped by force.
    pub(crate) fn hasty(script: Value) -> Self {
        Self::with(script, 64, |config| config.limits = hasty())
    }

    /// With room for so many messages at the hub, and other changes to the config.
    pub(crate) fn with(script: Value, room: usize, change: impl FnOnce(&mut AnchorConfig)) -> Self {
        let settings = AgentSettings {
            path: Some(fake_agent()),
            args: vec![script.to_string()],
            ..AgentSettings::default()
        };
        let mut config = AnchorConfig {
            agents: agents(),
            settings: [("fake".to_owned(), settings)].into(),
            surroundings: Surroundings::default(),
            limits: patient(),
            ..AnchorConfig::default()
        };
        change(&mut config);
        let (hub, said) = mpsc::channel(room);
        let full = Arc::new(Notify::new());
        let no_room = Arc::clone(&full);
        let deaf = Arc::new(OnceLock::new());
        let hears_nothing = Arc::clone(&deaf);
        let deliver: Deliver = Arc::new(move |message| {
            let (hub, no_room) = (hub.clone(), Arc::clone(&no_room));
            if let (FromAnchor::Said { session, .. }, Some(deaf)) = (&message, hears_nothing.get())
                && session == deaf
            {
                no_room.notify_one();
                return Box::pin(std::future::pending());
            }
            let delivery: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
                if let Err(TrySendError::Full(message)) = hub.try_send(message) {
                    no_room.notify_one();
                    let _ = hub.send(message).await;
                }
            });
            delivery
        });
        let folder = tempfile::tempdir().unwrap();
        Self { anchor: Anchor::start(config, deliver), said, full, deaf, ids: Ids::seeded(1), folder }
    }

    fn cx(&mut self) -> Context<'_> {
        Context { now: Timestamp::from_micros(1), ids: &mut self.ids }
    }

    pub(crate) fn launch(&mut self) -> Launch {
        Launch {
            session: SessionId::mint(&mut self.cx()),
            agent: "fake".into(),
            cwd: self.folder.path().display().to_string(),
            mode: Mode::Ask,
            model: None,
            effort: None,
            deepest: false,
            mcp_servers: Vec::new(),
            start: Start::New,
        }
    }

    /// Opens a session with the fake agent.
    pub(crate) async fn open(&mut self) -> SessionId {
        let launch = self.launch();
        let session = launch.session;
        self.send(ToAnchor::Open(launch)).await;
        session
    }

    pub(crate) async fn send(&self, message: ToAnchor) {
        soon("the anchor's queue", self.anchor.send(message)).await.unwrap();
    }

    pub(crate) async fn prompt(&mut self, session: SessionId, text: &str) {
        let cx = &mut self.cx();
        let (turn, prompt) = (TurnId::mint(cx), PromptId::mint(cx));
        let command = AgentCommand::Prompt { turn, prompt, text: text.to_owned(), attachments: Vec::new() };
        self.send(ToAnchor::Tell { session, command }).await;
    }

    pub(crate) async fn interrupt(&mut self, session: SessionId) {
        let turn = TurnId::mint(&mut self.cx());
        self.send(ToAnchor::Tell { session, command: AgentCommand::Interrupt { turn } }).await;
    }

    pub(crate) async fn stop(&self, session: SessionId) {
        self.send(ToAnchor::Stop { session }).await;
    }

    pub(crate) async fn ask(&mut self, query: impl Into<Query>) -> QueryId {
        let id = QueryId::mint(&mut self.cx());
        self.send(ToAnchor::Ask { id, query: query.into() }).await;
        id
    }

    pub(crate) async fn next(&mut self) -> FromAnchor {
        soon("the anchor to speak", self.said.recv()).await.unwrap()
    }

    /// Waits for an answer.
    pub(crate) async fn answer(&mut self, query: impl Into<Query>) -> Result<Answer, String> {
        let id = self.ask(query).await;
        match self.next().await {
            FromAnchor::Answer { id: other, answer } if other == id => answer,
            other => panic!("expected an answer, got {other:?}"),
        }
    }

    /// Waits for a draft with this text, whatever comes before.
    pub(crate) async fn hear(&mut self, session: SessionId, text: &str) {
        loop {
            match self.next().await {
                FromAnchor::Said { session: other, drafts } if other == session => {
                    if drafts.iter().any(|draft| draft.text.as_deref() == Some(text)) {
                        return;
                    }
                }
                FromAnchor::Said { .. } => {}
                other => panic!("expected `{text}`, got {other:?}"),
            }
        }
    }

    /// Waits for drafts with these texts, in this order, however many of them come at once.
    pub(crate) async fn hear_all(&mut self, session: SessionId, texts: &[&str]) {
        let mut left = texts.iter().peekable();
        while let Some(next) = left.peek().copied() {
            match self.next().await {
                FromAnchor::Said { session: other, drafts } if other == session => {
                    for draft in &drafts {
                        left.next_if(|text| draft.text.as_deref() == Some(**text));
                    }
                }
                FromAnchor::Said { .. } => {}
                other => panic!("expected `{next}`, got {other:?}"),
            }
        }
    }

    /// The same, when it may have lost another agent before.
    pub(crate) async fn hear_past_gone(&mut self, session: SessionId, text: &str) {
        loop {
            if let FromAnchor::Said { session: other, drafts } = self.next().await
                && other == session
                && drafts.iter().any(|draft| draft.text.as_deref() == Some(text))
            {
                return;
            }
        }
    }

    /// Waits for the end of a session's agent; what others say meanwhile is passed over.
    pub(crate) async fn life(&mut self, session: SessionId) -> Life {
        let (mut all, mut messages) = (Vec::new(), 0);
        loop {
            match self.next().await {
                FromAnchor::Said { session: other, drafts } if other == session => {
                    messages += 1;
                    all.extend(drafts);
                }
                FromAnchor::Gone { session: other, sleep, reason } if other == session => {
                    return Life { drafts: all, messages, sleep, reason };
                }
                FromAnchor::Said { .. }
                | FromAnchor::Gone { .. }
                | FromAnchor::FoundPast { .. }
                | FromAnchor::ReadPast { .. }
                | FromAnchor::Delegate { .. }
                | FromAnchor::Answer { .. } => {}
            }
        }
    }
}

/// A place that fake agents call, so that a test can wait for what they do and for their death.
pub(crate) struct Phone {
    listener: TcpListener,
    pub(crate) number: String,
}

impl Phone {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let number = listener.local_addr().unwrap().to_string();
        Self { listener, number }
    }

    pub(crate) async fn call(&self) -> TcpStream {
        soon("a call", self.listener.accept()).await.unwrap().0
    }

    /// Whether all calls were taken.
    pub(crate) fn nobody_else_called(self) -> bool {
        let listener = self.listener.into_std().unwrap();
        listener.accept().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }
}

/// Waits until the caller is dead, or has hung up; returns what it said.
pub(crate) async fn listen(mut call: TcpStream) -> String {
    let mut words = Vec::new();
    // A process that is killed may end its connection with a reset.
    let _ = soon("the caller to hang up", call.read_to_end(&mut words)).await;
    String::from_utf8(words).unwrap()
}
