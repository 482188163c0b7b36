//! The description of an agent: how to call, find and start it, and what it can do.
//!
//! An agent is a value and not a constant, because people add agents of their own in the settings.

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

/// An agent of the table, as it is passed around.
pub type Agent = Arc<dyn AgentSpec>;

/// One agent that Longshore can drive.
pub trait AgentSpec: fmt::Debug + Send + Sync {
    /// Its name: `codex`. Letters, digits and hyphens.
    fn name(&self) -> &str;

    /// Its name for people: `Codex`.
    fn title(&self) -> &str;

    /// The command that installs it.
    fn install(&self) -> &str;

    /// The command that logs in to it, where one is needed.
    fn login(&self) -> Option<&str> {
        None
    }

    /// Where it keeps who is logged in, where that can be seen.
    fn account(&self) -> Option<Account> {
        None
    }

    /// The command that goes on with a conversation in the agent's own terminal, when it is given in the conversation's
    /// folder; the agent's name for the conversation stands where it says `{native}`.
    fn resume(&self) -> Option<&str> {
        None
    }

    /// What it keeps of its conversations, where that can be read. Agents that keep them in the same place share them.
    fn records(&self) -> Option<&'static dyn Records> {
        None
    }

    /// What it keeps of its conversations, where it has to be asked for them.
    fn served_records(&self) -> Option<&'static dyn ServedRecords> {
        None
    }

    /// The newest version that Longshore was tested with. A newer one is driven all the same, with a remark.
    fn tested(&self) -> Option<&str> {
        None
    }

    /// How it runs on a scripted model, without an account; none where that is not known.
    fn offline(&self, _: OfflinePlace<'_>) -> Option<Offline> {
        None
    }

    /// What speaks with it, as captures name it.
    fn driver_name(&self) -> &str {
        self.name()
    }

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// The same agent, made for what the settings say of it. None when they say nothing that it need know; an error
    /// when they say what it does not understand.
    fn configured(&self, settings: &AgentSettings) -> Result<Option<Agent>, String> {
        match settings.more.keys().next() {
            Some(key) => Err(format!("unknown field `{key}`")),
            None => Ok(None),
        }
    }

    /// Whether it can hand work to other agents: its process is then told which of them are installed, in
    /// [`crate::react::settings::AGENTS_VARIABLE`].
    fn delegates(&self) -> bool {
        false
    }

    /// Where it is installed. Looks at the disk; called where that may take its time.
    fn find(&self, settings: &AgentSettings, around: &Surroundings) -> Finding;

    /// How its program is started so that it speaks to us.
    fn invocation(&self, purpose: Purpose<'_>) -> Invocation;

    /// How one speaks with its process. The settings may choose where there is a choice.
    fn channel(&self, _: &AgentSettings) -> Channel {
        Channel::Lines
    }

    /// The agent whose models it has, where it cannot be asked for them itself.
    fn models_of(&self) -> Option<&str> {
        None
    }

    /// Whether one process hosts all sessions of this machine. It is started for the first one, without a work tree
    /// of its own, and ends a little after the last one.
    fn shared(&self) -> bool {
        false
    }

    /// A driver for one process of it.
    fn driver(&self) -> Box<dyn Driver>;
}

/// How one speaks with a process.
#[derive(Clone, Copy, Debug)]
pub enum Channel {
    /// In lines, over its pipes.
    Lines,
    /// Lines over the pipes of one process per turn. The driver says when and how to start it. The process
    /// gets its whole input at once, and is stopped with a SIGINT.
    Turns,
    /// Over HTTP, on a port of loopback that it names in a line; its events come as server-sent events.
    Http(Server),
    /// In lines, over a WebSocket that its program opens to an address of ours. Only for sessions: questions are asked over
    /// its pipes.
    Socket(CallBack),
}

/// A program that calls us back.
#[derive(Clone, Copy, Debug)]
pub struct CallBack {
    /// The argument that comes before the address.
    pub address: &'static str,
    /// The environment variable with the program's token, which is new for every process.
    pub token: &'static str,
    /// The close code after which it does not call again but ends.
    pub farewell: u16,
}

/// A process that is a server on loopback.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    /// The name that goes with the password.
    pub user: &'static str,
    /// The environment variable with the server's password, which is new for every process.
    pub password: &'static str,
    /// The address of the server, if this line of its output contains it. Nothing is sent before that.
    pub listening: fn(&str) -> Option<SocketAddr>,
    /// The path of its stream of events: one message in each line of data.
    pub events: &'static str,
    /// Whether a message of the stream carries no information: a sign of life, or a copy of another message.
    pub says_nothing: fn(&str) -> bool,
}

/// What a process is started for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// To host this session and its child sessions.
    Session(&'a Launch),
    /// To answer this question, and nothing else.
    Query(&'a AgentQuestion),
    /// To host all sessions of this machine, one after the other and at once.
    Machine,
}

/// The additions to a program's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Its arguments, before those of the settings.
    pub arguments: Vec<String>,
    /// Additional environment variables, which the settings can override.
    pub env: BTreeMap<String, String>,
    /// Files that the process finds by arguments after its own. They are created for it and deleted when it
    /// ends.
    pub files: Vec<SecretFile>,
}

/// A file that only its owner can read, for values that must not be on a command line, which all users of a
/// machine can see.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// What the argument begins with, before the path: `--mcp-config=`.
    pub flag: &'static str,
    /// How its name ends: `json`.
    pub extension: &'static str,
    /// The content.
    pub text: String,
}

/// Without what is in it.
impl fmt::Debug for SecretFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretFile").field("flag", &self.flag).finish_non_exhaustive()
    }
}

impl Invocation {
    /// Arguments, and nothing else.
    pub fn of(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        Self { arguments, ..Self::default() }
    }
}
