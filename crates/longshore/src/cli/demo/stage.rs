//! The stage of the demo: a hub in a private folder, a model that is a script, the built-in agent on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use longshore_drivers::anchor::AnchorConfig;
use longshore_drivers::discover::{AgentSettings, Surroundings};
use longshore_drivers::react;
use longshore_model::id::{Seq, SessionId, TurnId};
use longshore_model::info::SessionInfo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::cli::hub_server::{HubServer, Keep};
use crate::cli::token_file;
use crate::client::{Client, HubNotification};
use crate::config::{Config, Durability, Places};
use crate::demo::{DemoFolder, Story, StorySession};
use crate::dial::Trust;
use longshore_models::script::Model;

/// How long a session beside the one that is shown may take to be where it should be.
const STANDS_WITHIN: Duration = Duration::from_secs(60);

/// What runs while the demo does.
pub(super) struct DemoStage {
    pub(super) url: String,
    pub(super) token: String,
    /// Where a phone finds it, and the link with which it pairs.
    pub(super) for_phones: Option<(String, String)>,
    /// The fingerprint of the authority that a phone has to believe.
    pub(super) authority: Option<String>,
    pub(super) story: Story,
    folder: DemoFolder,
    trust: Trust,
    hub: ServerTask,
    model: ServerTask,
}

/// Something that serves until it is told to stop.
struct ServerTask {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<()>>,
}

impl ServerTask {
    /// Has it serve; `serve` is given what resolves when it is to stop.
    fn begin<F>(serve: impl FnOnce(Box<dyn Future<Output = ()> + Send + Unpin>) -> F) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = Box::pin(async move {
            // Whoever is gone wants it to stop too.
            let _ = stopped.await;
        });
        Self { stop, task: tokio::spawn(serve(Box::new(stopped))) }
    }

    async fn end(self) -> Result<()> {
        drop(self.stop);
        self.task.await?
    }
}

/// A session that was opened, and spoken to.
pub(super) struct Opened {
    pub(super) client: Client,
    pub(super) session: SessionInfo,
    pub(super) turn: TurnId,
}

/// All sessions, once they are where they should be.
pub(super) struct Sessions {
    /// By what the story calls them.
    pub(super) names: BTreeMap<String, SessionId>,
    /// All but the one that was shown.
    pub(super) beside: Vec<SessionInfo>,
}

/// What is still on its way.
pub(super) type Beside = JoinSet<Result<(String, SessionId)>>;

#[derive(Deserialize)]
struct DemoTurn {
    turn: TurnId,
}

#[derive(Deserialize)]
struct SessionList {
    sessions: Vec<SessionInfo>,
}

impl DemoStage {
    pub(super) async fn set_up(speed: f64, phone: bool, keep: bool) -> Result<Self> {
        let (story, folder) = (Story::read()?, DemoFolder::lay_out(keep).await?);
        let places = folder.places();
        places.make_data()?;
        write_log(&places)?;

        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the scripted model")?;
        let base = format!("http://{}/v1", listener.local_addr()?);
        let scripted = Model::new(story.script(speed)?);
        let model = ServerTask::begin(|stop| async move { Ok(scripted.serve(listener, stop).await?) });

        let mut settings = story.agent.clone();
        settings.insert("base_url".to_owned(), base.into());
        let settings = AgentSettings { more: settings, ..AgentSettings::default() };
        let config = Config {
            bind: if phone { "0.0.0.0:0" } else { "127.0.0.1:0" }.to_owned(),
            tls: phone,
            watch_past: false,
            durability: Durability::Normal,
            agents: [(react::NAME.to_owned(), settings)].into(),
            ..Config::default()
        };
        let owner = token_file::owner_of(&places)?;
        let token = owner.token.reveal().to_owned();
        let around = surroundings(folder.path());
        let server =
            HubServer::open(&places, &config, Keep::OnDisk, owner, |anchor| private(anchor, around)).await?;
        server.announce()?;
        let link = |public: &String| Some((public.clone(), server.app.first_link(public)?));
        let authority = server.tls.as_ref().and_then(|tls| tls.authority.as_ref());
        Ok(Self {
            url: server.place.url.clone(),
            token,
            for_phones: server.place.public().filter(|_| phone).and_then(link),
            authority: authority.map(|authority| authority.fingerprint.clone()),
            story,
            folder,
            trust: Trust {
                fingerprint: server.tls.as_ref().map(|tls| tls.fingerprint.clone()),
                ..Trust::default()
            },
            hub: ServerTask::begin(|stop| server.serve(stop, || ())),
            model,
        })
    }

    /// Where all of it is.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Opens a session of the story and says what is to be said.
    pub(super) async fn open(&self, part: &StorySession) -> Result<Opened> {
        open(self.door(), part, &self.folder.project(&part.project)).await
    }

    /// Has the other sessions come to where they should be, each in its own time.
    pub(super) fn open_beside(&self) -> Beside {
        let mut beside = JoinSet::new();
        for part in &self.story.beside {
            let (door, part, project) = (self.door(), part.clone(), self.folder.project(&part.project));
            beside.spawn(async move {
                let standing = tokio::time::timeout(STANDS_WITHIN, stand(door, &part, &project));
                let session = standing.await.map_err(|_| anyhow!("it did not get there in time"));
                let session = session.and_then(|session| session);
                session
                    .map(|id| (part.name.clone(), id))
                    .with_context(|| format!("the session `{}`", part.name))
            });
        }
        beside
    }

    /// Waits for the other sessions, and lists them.
    pub(super) async fn all_stand(&self, shown: SessionId, mut beside: Beside) -> Result<Sessions> {
        let mut names = BTreeMap::from([(self.story.shown.name.clone(), shown)]);
        while let Some(stands) = beside.join_next().await {
            names.extend([stands??]);
        }
        let mut client = self.door().enter().await?;
        let SessionList { sessions } = client.call("sessions", json!({ "limit": 200 })).await?;
        let helper = sessions.iter().find(|session| session.parent == Some(shown));
        names.extend(helper.map(|session| ("helper".to_owned(), session.session_id)));
        let beside = sessions.into_iter().filter(|session| session.session_id != shown).collect();
        Ok(Sessions { names, beside })
    }

    /// Ends everything and takes it away. Says where the folder is if it was to be kept.
    pub(super) async fn strike(self) -> Result<Option<PathBuf>> {
        self.hub.end().await?;
        self.model.end().await?;
        Ok(self.folder.take_away())
    }

    fn door(&self) -> Door {
        Door { url: self.url.clone(), token: self.token.clone(), trust: self.trust.clone() }
    }
}

/// What opens the hub.
#[derive(Clone)]
struct Door {
    url: String,
    token: String,
    trust: Trust,
}

impl Door {
    async fn enter(&self) -> Result<Client> {
        Client::connect_to(&self.url, &self.token, &self.trust).await
    }
}

async fn open(door: Door, part: &StorySession, project: &Path) -> Result<Opened> {
    let mut client = door.enter().await?;
    let params = json!({ "agent": react::NAME, "cwd": project, "mode": part.mode });
    let session: SessionInfo = client.call("open", params).await?;
    let words = json!({ "session": session.session_id, "content": part.prompt });
    let DemoTurn { turn } = client.call("prompt", words).await?;
    Ok(Opened { client, session, turn })
}

async fn stand(door: Door, part: &StorySession, project: &Path) -> Result<SessionId> {
    let Opened { mut client, session, .. } = open(door, part, project).await?;
    let from_the_start = json!({ "session": session.session_id, "after": Seq::ZERO });
    let _: Value = client.call("subscribe", from_the_start).await?;
    loop {
        match client.news().await? {
            HubNotification::Event(_, event) if part.until.is_reached_by(&event.body) => {
                return Ok(session.session_id);
            }
            HubNotification::Event(..) => {}
            HubNotification::Resume(session, after) => {
                let _: Value =
                    client.call("subscribe", json!({ "session": session, "after": after })).await?;
            }
        }
    }
}

/// What the agent knows of the world: how to find programs, and homes that nobody else uses.
fn surroundings(folder: &Path) -> Surroundings {
    let at = |name: &str| folder.join(name).into_os_string();
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    Surroundings::of([
        ("PATH", path),
        ("HOME", at("home")),
        ("TMPDIR", at("tmp")),
        ("LANG", "C.UTF-8".into()),
    ])
}

/// The built-in agent and no other: those of the user are left alone.
fn private(mut anchor: AnchorConfig, surroundings: Surroundings) -> AnchorConfig {
    anchor.agents.retain(|agent| agent.name() == react::NAME);
    AnchorConfig { surroundings, ..anchor }
}

/// The terminal is for the session; what the hub has to say goes to a file.
fn write_log(places: &Places) -> Result<()> {
    let file = std::fs::File::create(places.hub_log())?;
    let subscriber = tracing_subscriber::fmt().with_writer(std::sync::Mutex::new(file)).with_ansi(false);
    // Somebody may be listening already.
    let _ = subscriber.try_init();
    Ok(())
}
