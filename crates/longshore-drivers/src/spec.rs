//! The description of an agent: its names, how Longshore finds and starts it, and what it can do.
//!
//! An agent is a value and not a constant, because people can add agents in the settings.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use longshore_model::anchor::{AgentQuestion, Launch};
use longshore_model::capability::Capabilities;
use longshore_model::driver::Driver;

use crate::account::Account;
use crate::discover::{AgentSettings, Finding, Surroundings};
use crate::import::{Records, ServedRecords};
use crate::offline::{Offline, OfflinePlace};

/// A shared agent of the table.
pub type Agent = Arc<dyn AgentSpec>;

/// One agent that Longshore can drive.
pub trait AgentSpec: fmt::Debug + Send + Sync {
    /// The agent's name: `codex`. Letters, digits and hyphens.
    fn name(&self) -> &str;

    /// The agent's name for people: `Codex`.
    fn title(&self) -> &str;

    /// The command that installs the agent.
    fn install(&self) -> &str;

    /// The command that logs in to the agent, if it needs one.
    fn login(&self) -> Option<&str> {
        None
    }

    /// Where the agent keeps its login, if Longshore can see it.
    fn account(&self) -> Option<Account> {
        None
    }

    /// The command that continues a conversation in the agent's own terminal. It must run in the
    /// conversation's folder. `{native}` stands for the agent's id of the conversation.
    fn resume(&self) -> Option<&str> {
        None
    }

    /// The agent's records of its conversations, if Longshore can read them. Agents with the same folder
    /// share their records.
    fn records(&self) -> Option<&'static dyn Records> {
        None
    }

    /// The agent's records of its conversations, if only the agent itself can read them.
    fn served_records(&self) -> Option<&'static dyn ServedRecords> {
        None
    }

    /// The newest version with which Longshore was tested. Longshore also runs a newer one, with a remark.
    fn tested(&self) -> Option<&str> {
        None
    }

    /// How the agent runs on a scripted model, without an account. None if that is unknown.
    fn offline(&self, _: OfflinePlace<'_>) -> Option<Offline> {
        None
    }

    /// The name of the driver in captures.
    fn driver_name(&self) -> &str {
        self.name()
    }

    /// What the agent can do.
    fn capabilities(&self) -> Capabilities;

    /// The same agent, changed by the settings. None if the settings contain nothing for it. An error if they
    /// contain something that it does not understand.
    fn configured(&self, settings: &AgentSettings) -> Result<Option<Agent>, String> {
        match settings.more.keys().next() {
            Some(key) => Err(format!("unknown field `{key}`")),
            None => Ok(None),
        }
    }

    /// Whether the agent can delegate work to other agents. Then its process learns which of them are
    /// installed, through [`crate::react::settings::AGENTS_VARIABLE`].
    fn delegates(&self) -> bool {
        false
    }

    /// Where the agent is installed. This reads the disk, so it is called only where it may take time.
    fn find(&self, settings: &AgentSettings, around: &Surroundings) -> Finding;

    /// How the agent's program is started for a driver.
    fn invocation(&self, purpose: Purpose<'_>) -> Invocation;

    /// How the driver exchanges messages with the process. If there is a choice, the settings decide.
    fn channel(&self, _: &AgentSettings) -> Channel {
        Channel::Lines
    }

    /// The agent whose models this agent has, if it cannot report its models itself.
    fn models_of(&self) -> Option<&str> {
        None
    }

    /// Whether one process hosts all sessions of this machine. It starts for the first session, without its
    /// own work tree, and ends shortly after the last one.
    fn shared(&self) -> bool {
        false
    }

    /// A driver for one process of the agent.
    fn driver(&self) -> Box<dyn Driver>;
}

/// How a driver exchanges messages with a process.
#[derive(Clone, Copy, Debug)]
pub enum Channel {
    /// Lines over the pipes of the process.
    Lines,
    /// Lines over the pipes of one process per turn. The driver says when and how to start it. The process
    /// gets its whole input at once. A SIGINT stops it.
    Turns,
    /// HTTP on a loopback port. The process names the port in a line. Its events come as server-sent events.
    Http(Server),
    /// Lines over a WebSocket that the program opens to the hub's address. Only for sessions: a process that
    /// answers a question uses its pipes.
    Socket(CallBack),
}

/// A program that calls back to the hub.
#[derive(Clone, Copy, Debug)]
pub struct CallBack {
    /// The flag before the address.
    pub address: &'static str,
    /// The environment variable with the program's token, which is new for every process.
    pub token: &'static str,
    /// The close code after which the program ends and does not call again.
    pub farewell: u16,
}

/// A process that is a server on loopback.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    /// The user name for the password.
    pub user: &'static str,
    /// The environment variable with the server's password, which is new for every process.
    pub password: &'static str,
    /// The address of the server, if this line of its output contains it. Until then, no request is sent.
    pub listening: fn(&str) -> Option<SocketAddr>,
    /// The path of its stream of events: one message in each line of data.
    pub events: &'static str,
    /// Whether a message of the stream carries no information: a heartbeat, or a copy of another message.
    pub says_nothing: fn(&str) -> bool,
}

/// What a process is started for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// To host this session and its child sessions.
    Session(&'a Launch),
    /// To answer this question, and nothing else.
    Query(&'a AgentQuestion),
    /// To host all sessions of this machine, also several at once.
    Machine,
}

/// The arguments, variables and files with which a program is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The arguments, before the arguments of the settings.
    pub arguments: Vec<String>,
    /// Additional environment variables, which the settings can override.
    pub env: BTreeMap<String, String>,
    /// Files for the process. It finds them through arguments after its own. They are created for the
    /// process, and deleted when it ends.
    pub files: Vec<SecretFile>,
}

/// A file that only its owner can read. It holds values that must not be on a command line, because all users
/// of a machine can see command lines.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// How the argument begins, before the path: `--mcp-config=`.
    pub flag: &'static str,
    /// The extension of the file: `json`.
    pub extension: &'static str,
    /// The content.
    pub text: String,
}

/// Leaves out the content of the file.
impl fmt::Debug for SecretFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretFile").field("flag", &self.flag).finish_non_exhaustive()
    }
}

impl Invocation {
    /// An invocation with only arguments.
    pub fn of(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        Self { arguments, ..Self::default() }
    }
}
