//! A hub with a made-up anchor: the test is the agent.

use std::time::Duration;

use longshore_log::Stores;
use longshore_model::anchor::{Answer, FromAnchor, Launch, Machine, Query, ToAnchor};
use longshore_model::approval::Decision;
use longshore_model::capability::{AgentInfo, Capabilities, Mode};
use longshore_model::command::{AgentCommand, Command, Prompt, Reply};
use longshore_model::event::{Body, Draft, Event};
use longshore_model::id::{ApprovalId, Context, Ids, ItemId, SessionId, TurnId};
use longshore_model::lifecycle::{Ready, Sleep, TurnEnd, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_session::{Hub, HubError, OpenRequest, Subscription};
use tokio::sync::mpsc;

/// Longer than anything here takes, so that a fault ends in a message and not in a wait.
const WITHIN: Duration = Duration::from_secs(120);

pub(crate) struct Rig {
    pub(crate) hub: Hub,
    /// What the agents are told; questions are answered before they get here.
    told: mpsc::Receiver<ToAnchor>,
    ids: Ids,
}

pub(crate) fn agent() -> AgentInfo {
    let modes = vec![Mode::Plan, Mode::Ask, Mode::AutoEdit, Mode::Full];
    AgentInfo {
        name: "codex".into(),
        title: "Codex".to_owned(),
        path: Some("/bin/codex".to_owned()),
        version: None,
        install: "install it".to_owned(),
        login: None,
        logged_in: None,
        resume: None,
        remark: None,
        verified: None,
        capabilities: Capabilities { fork: true, steer: true, modes, ..Capabilities::default() },
        models: Vec::new(),
    }
}

/// An agent whose memory is our log.
pub(crate) fn forgetful() -> AgentInfo {
    let mut agent = AgentInfo { name: "react".into(), title: "Built-in agent".to_owned(), ..agent() };
    agent.capabilities.memory_in_log = true;
    agent
}

/// An agent with a record of its own, of which it never tells anything.
pub(crate) fn slow() -> AgentInfo {
    let mut agent = AgentInfo { name: "slow".into(), title: "Slow".to_owned(), ..agent() };
    agent.capabilities.own_record = true;
    agent
}

impl Rig {
    pub(crate) fn over(stores: impl Into<Stores>) -> Self {
        let hub = Hub::new(stores);
        let (to_anchor, mut from_hub) = mpsc::channel(256);
        let (tell, told) = mpsc::channel(256);
        hub.attach(to_anchor);
        let answers = hub.clone();
        tokio::spawn(async move {
            while let Some(message) = from_hub.recv().await {
                match message {
                    ToAnchor::Ask { id, query } => {
                        let answer = match query {
                            Query::RecordSize(_) => continue,
                            Query::Agents(_) => Ok(Answer::Agents(Machine {
                                name: "here".to_owned(),
                                agents: vec![agent(), forgetful(), slow()],
                            })),
                            _ => Err("not here".to_owned()),
                        };
                        answers.deliver(FromAnchor::Answer { id, answer }).await;
                    }
                    other => tell.send(other).await.unwrap(),
                }
            }
        });
        Self { hub, told, ids: Ids::seeded(9) }
    }

    pub(crate) async fn open(&mut self) -> (SessionId, Launch) {
        self.open_with("codex").await
    }

    pub(crate) async fn open_with(&mut self, agent: &str) -> (SessionId, Launch) {
        let request = OpenRequest { agent: agent.to_owned(), cwd: "/w".to_owned(), ..OpenRequest::default() };
        let session = self.hub.open(request).await.unwrap().session_id;
        (session, self.launched().await)
    }

    /// A session whose agent listens.
    pub(crate) async fn ready(&mut self) -> SessionId {
        let (session, _) = self.open().await;
        self.is_ready(session).await;
        session
    }

    pub(crate) async fn is_ready(&self, session: SessionId) {
        self.is_ready_as(session, "thread-1").await;
    }

    pub(crate) async fn is_ready_as(&self, session: SessionId, native: &str) {
        let ready = Ready { native: Some(native.to_owned()), version: None, model: None, transcript: None };
        self.say(session, vec![Draft::new(Body::SessionReady(ready))]).await;
    }

    pub(crate) async fn say(&self, session: SessionId, drafts: Vec<Draft>) {
        self.hub.deliver(FromAnchor::Said { session, drafts }).await;
    }

    pub(crate) async fn gone(&self, session: SessionId) {
        let (sleep, reason) = (Sleep::default(), "it died".to_owned());
        self.hub.deliver(FromAnchor::Gone { session, sleep, reason }).await;
    }

    pub(crate) async fn finish(&self, session: SessionId, turn: TurnId, outcome: TurnOutcome) {
        self.say(session, vec![Draft::new(Body::TurnFinished(TurnEnd::of(outcome))).turn(turn)]).await;
    }

    pub(crate) async fn prompt(&self, session: SessionId, text: &str) -> Result<TurnId, HubError> {
        let prompt = Prompt { text: text.to_owned(), ..Prompt::default() };
        match self.hub.command(session, Command::Prompt(prompt), "owner".to_owned()).await? {
            Reply::Prompted { turn, .. } => Ok(turn),
            other => panic!("a prompt came to {other:?}"),
        }
    }

    pub(crate) fn context(&mut self) -> Context<'_> {
        Context { now: Timestamp::from_micros(1), ids: &mut self.ids }
    }

    pub(crate) fn item(&mut self) -> ItemId {
        ItemId::mint(&mut self.context())
    }

    /// The next thing that an agent is told.
    pub(crate) async fn told(&mut self) -> ToAnchor {
        tokio::time::timeout(WITHIN, self.told.recv()).await.expect("nothing was told").unwrap()
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

/// Somebody decides, whichever session asks.
pub(crate) async fn decide(
    hub: &Hub,
    approval: ApprovalId,
    decision: Decision,
    by: &str,
) -> Result<Reply, HubError> {
    let session = hub.asker(approval.0).await?;
    let decide = Command::Decide { approval, decision, message: None, input: None };
    hub.command(session, decide, by.to_owned()).await
}

/// Reads a subscription until an event fits; all events up to it.
pub(crate) async fn until(subscription: &mut Subscription, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut seen = Vec::new();
    let reading = async {
        loop {
            for frame in subscription.next().await.unwrap().iter() {
                let event = Event::clone(frame.event().unwrap());
                let done = fits(&event);
                seen.push(event);
                if done {
                    return;
                }
            }
        }
    };
    if tokio::time::timeout(WITHIN, reading).await.is_err() {
        panic!("it never came; seen was {seen:#?}");
    }
    seen
}

pub(crate) fn is_turn_end(event: &Event) -> bool {
    matches!(event.body, Body::TurnFinished(_))
}
