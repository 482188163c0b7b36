//! The anchor: holds agent processes, one task each, and exchanges only two enums with the hub.
//!
//! Most agents get one process per session. An agent that is a server gets one process for all sessions
//! ([`AgentSpec::shared`]). That process starts for the first session or query, and ends shortly after the
//! last. If it dies, all of its sessions end. An agent that ends with its turn gets one process per turn
//! ([`Channel::Turns`]). Between turns there is only its driver. The first process of an agent starts alone,
//! and the others wait for its first output (`first_start.rs`).
//!
//! | queue | bound | when it is full |
//! |---|---|---|
//! | hub to anchor | 256 messages | [`Anchor::send`] waits; the anchor's task itself never waits for an agent |
//! | anchor to one process | 64 messages | the agent takes nothing: the anchor stops it, with that reason |
//! | to an agent's stdin | [`Limits::outgoing`] | the anchor reads nothing from agent or session; after [`Limits::stuck`] without a byte taken, it stops the agent |
//! | agent to hub | one read, and what 256 messages and ticks add | the anchor does not read the agent, which waits; messages still reach it |
//! | stderr | [`Limits::stderr`] | the oldest part is dropped |
//! | to and from an agent's port | see [`crate::transport::http`] | |
//! | to and from an agent that calls back | see [`crate::transport::socket`] | |
//! | queries | 64 open, 4 processes, 2 inspections of work trees | refused; they wait within their deadline |

mod agent;
mod dispatch;
mod ending;
mod files;
mod first_start;
mod git_reader;
mod interrupts;
mod job;
mod outbox;
mod pictures;
mod process;
mod query;
mod recorder;
mod routes;
mod translator;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use longshore_model::anchor::{FromAnchor, Launch, ToAnchor};
use longshore_model::mcp::{self, McpServer};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

pub use self::git_reader::GitReader;
use crate::capture::Tape;
use crate::discover::{AgentAnnotations, AgentSettings, Surroundings};
use crate::import::WatchPast;
#[cfg(doc)]
use crate::leash::LeashRecord;
use crate::leash::Mark;
use crate::spec::Agent;
#[cfg(doc)]
use crate::spec::{AgentSpec, Channel};
use crate::table::{self, BadAgent};
use crate::transport::Limits;
use crate::transport::socket::CallbackRegistry;

/// Takes the anchor's messages. The future resolves when the session has room; until then the anchor does not
/// read the agent.
pub type Deliver = Arc<dyn Fn(FromAnchor) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// How many messages of the hub may wait.
const FROM_HUB: usize = 256;

/// The settings of an anchor.
#[derive(Clone, Debug)]
pub struct AnchorConfig {
    /// The agents that the anchor can run.
    pub agents: Vec<Agent>,
    /// A person's settings for the agents, by the agent's name.
    pub settings: BTreeMap<String, AgentSettings>,
    /// Where the anchor looks for agents, and the environment that it gives them.
    pub surroundings: Surroundings,
    /// The bounds of an agent's output and input, and the anchor's deadlines.
    pub limits: Limits,
    /// The MCP servers of every session, besides the session's own.
    pub mcp_servers: Vec<McpServer>,
    /// The variables whose values an MCP server of a session may get.
    pub mcp_env: Vec<String>,
    /// Whether and how the anchor looks for conversations that took place elsewhere.
    pub past: WatchPast,
    /// Where the anchor registers the programs that call back.
    pub reception: CallbackRegistry,
    /// Where the anchor records the messages between itself and its agents, if anywhere.
    pub tape: Option<Tape>,
    /// The mark of all processes that the anchor starts.
    pub mark: Mark,
    /// What the hub knows of the installed agents, besides their own reports.
    pub annotations: AgentAnnotations,
    /// Reads the git state of work trees.
    pub git: GitReader,
    /// The folder with the records of running processes, so that the next hub can end them; see
    /// [`LeashRecord`].
    pub leashes: Option<PathBuf>,
    /// How long the answer to a query may take.
    pub query_deadline: Duration,
    /// How long the anchor trusts an agent's list of models.
    pub models_believed: Duration,
    /// How long a process for many sessions stays after its last session.
    pub linger: Duration,
}

impl Default for AnchorConfig {
    fn default() -> Self {
        Self {
            agents: table::built_in(),
            settings: BTreeMap::new(),
            surroundings: Surroundings::of_this_process(),
            limits: Limits::default(),
            mcp_servers: Vec::new(),
            mcp_env: Vec::new(),
            past: WatchPast::default(),
            reception: CallbackRegistry::default(),
            tape: None,
            mark: Mark::of_this_process().under(),
            annotations: AgentAnnotations::default(),
            git: GitReader::default(),
            leashes: None,
            query_deadline: Duration::from_secs(15),
            models_believed: Duration::from_secs(300),
            linger: Duration::from_secs(20),
        }
    }
}

impl AnchorConfig {
    /// An anchor with the built-in agents and the agents of the settings.
    pub fn of(settings: BTreeMap<String, AgentSettings>) -> Result<Self, BadAgent> {
        Ok(Self { agents: table::all(&settings)?, settings, ..Self::default() })
    }

    pub(crate) fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name() == name)
    }

    pub(crate) fn settings_of(&self, agent: &Agent) -> AgentSettings {
        self.settings.get(agent.name()).cloned().unwrap_or_default()
    }

    /// Gives a launch its MCP servers: the session's own servers first, then the servers of every session. It
    /// also replaces each `${NAME}` with its value. Longshore's own variables go to no server. A session's
    /// server that uses a variable outside the list is left out: the list was different when the session was
    /// opened, or there was none.
    fn equip(&self, launch: &mut Launch) {
        let session = launch.session;
        launch.mcp_servers.retain(|server| {
            let fault = mcp::check_variables(std::slice::from_ref(server), &self.mcp_env).err();
            if let Some(fault) = &fault {
                tracing::warn!(%session, server = server.name, %fault, "an MCP server is left out");
            }
            fault.is_none()
        });
        let own = launch.mcp_servers.len();
        for server in &self.mcp_servers {
            if launch.mcp_servers[..own].iter().all(|other| other.name != server.name) {
                launch.mcp_servers.push(server.clone());
            }
        }
        let variable = |name: &str| {
            let name = Some(name).filter(|name| mcp::may_be_told(name))?;
            self.surroundings.var(name)?.to_str().map(str::to_owned)
        };
        for server in &mut launch.mcp_servers {
            server.transport = server.transport.filled_in(variable);
        }
    }

    fn unknown_agent(&self, name: &str) -> String {
        let known: Vec<_> = self.agents.iter().map(|agent| agent.name()).collect();
        format!("no agent is called `{name}`; the agents are {}", known.join(", "))
    }
}

/// The anchor has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hub has stopped running agents")]
pub struct AnchorGone;

/// A running anchor. If it is dropped, it stops its agents, and nobody waits for that; see
/// [`Anchor::shutdown`].
#[derive(Debug)]
pub struct Anchor {
    to_anchor: mpsc::Sender<ToAnchor>,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Anchor {
    /// Starts an anchor on the current runtime.
    pub fn start(config: AnchorConfig, deliver: Deliver) -> Self {
        let (to_anchor, from_hub) = mpsc::channel(FROM_HUB);
        let (shutdown, shut_down) = oneshot::channel();
        let task = tokio::spawn(dispatch::Dispatch::new(config, deliver).run(from_hub, shut_down));
        Self { to_anchor, shutdown, task }
    }

    /// Sends a message to the anchor. The call waits while the queue is full. No agent can cause that.
    pub async fn send(&self, message: ToAnchor) -> Result<(), AnchorGone> {
        self.to_anchor.send(message).await.map_err(|_| AnchorGone)
    }

    /// The queue that [`Anchor::send`] fills.
    pub fn sender(&self) -> mpsc::Sender<ToAnchor> {
        self.to_anchor.clone()
    }

    /// Stops all agents, because the hub stops. This takes as long as the slowest agent. It takes at most the
    /// graces of one agent together: end of input, SIGTERM, SIGKILL. After that, the anchor kills the
    /// remaining agents.
    pub async fn shutdown(self) {
        // If nobody receives this, the anchor has already ended by itself.
        let _ = self.shutdown.send(());
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the anchor failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use longshore_model::anchor::Start;
    use longshore_model::capability::Mode;
    use longshore_model::id::{Context, Ids, SessionId};
    use longshore_model::mcp::McpTransport;
    use longshore_model::time::Timestamp;

    use super::*;

    #[test]
    fn a_session_gets_its_own_servers_and_those_of_the_settings_with_their_secrets() {
        let server = |name: &str, key: &str| McpServer {
            name: name.to_owned(),
            transport: McpTransport::Stdio {
                command: "serve".to_owned(),
                args: Vec::new(),
                env: [("KEY".to_owned(), key.to_owned())].into(),
            },
        };
        let config = AnchorConfig {
            surroundings: Surroundings::of([
                ("DOCS_KEY", "s3cret"),
                ("FILES_KEY", "shared"),
                ("LONGSHORE_TOKEN", "the owner's"),
            ]),
            mcp_servers: vec![
                server("docs", "${DOCS_KEY}"),
                server("files", "of the settings"),
                server("ours", "${LONGSHORE_TOKEN}"),
            ],
            mcp_env: vec!["FILES_KEY".to_owned(), "LONGSHORE_TOKEN".to_owned()],
            ..AnchorConfig::default()
        };
        let session = SessionId::mint(&mut Context { now: Timestamp::default(), ids: &mut Ids::seeded(1) });
        let mut launch = Launch {
            session,
            agent: "codex".into(),
            cwd: "/work".to_owned(),
            mode: Mode::Ask,
            model: None,
            effort: None,
            deepest: false,
            mcp_servers: vec![
                server("files", "of the session"),
                server("a", "${FILES_KEY}"),
                server("b", "${DOCS_KEY}"),
                server("c", "${LONGSHORE_TOKEN}"),
                server("d", "x${FILES_KEY}"),
            ],
            start: Start::New,
        };
        config.equip(&mut launch);
        let expected = [
            server("files", "of the session"),
            server("a", "shared"),
            server("docs", "s3cret"),
            server("ours", ""),
        ];
        assert_eq!(launch.mcp_servers, expected);
    }
}
