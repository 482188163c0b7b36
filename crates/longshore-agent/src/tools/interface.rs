//! What the loop and its tools say to each other.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use longshore_model::approval::{Field, QuestionAnswer, Subject};
use longshore_model::capability::Mode;
use longshore_model::command::Attachment;
use longshore_model::item::{FileDiff, ToolOutcome, ToolStatus};
use longshore_model::mcp::McpServer;
use serde_json::Value;
use tokio::sync::oneshot;

use super::bound::{Collected, for_model};

/// A call of a tool, as the model wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolInvocation {
    /// Unique within the session.
    pub id: String,
    /// Which tool: `shell`, `server.tool`, `server__tool`.
    pub name: String,
    /// With what.
    pub arguments: Value,
}

/// Whether a call may run.
#[derive(Clone, Debug, PartialEq)]
pub enum CallVerdict {
    /// It may.
    Go,
    /// If a person says so.
    Ask(CallApproval),
    /// It may not; the model is told why.
    Refuse(String),
}

/// What a person is asked before a call runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CallApproval {
    /// Why it is asked, in a sentence.
    pub reason: String,
    /// What could go wrong.
    pub risks: Vec<Risk>,
    /// What the approval is about. What a yes for the whole session allows is in [`CallApproval::always`].
    pub subject: Subject,
    /// The rules that a yes for the whole session adds, see [`Toolbox::allow`](super::Toolbox::allow). Empty when a
    /// yes can be said for this call only.
    pub always: Vec<String>,
}

/// What can go wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Risk {
    /// It touches what is not in the work tree.
    Outside,
    /// It talks to other machines.
    Network,
    /// It deletes something.
    Deletes,
    /// It runs without a sandbox.
    Unsandboxed,
}

impl Risk {
    /// In a few words, for people.
    pub fn text(self) -> &'static str {
        match self {
            Risk::Outside => "outside of the work tree",
            Risk::Network => "uses the network",
            Risk::Deletes => "deletes",
            Risk::Unsandboxed => "without a sandbox",
        }
    }
}

/// What a call that runs may do. The verdict is looked at again with it: what was true when it was asked may not be now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    /// The mode that it runs in.
    pub mode: Mode,
    /// Whether a person said yes to what was asked.
    pub approved: bool,
}

/// What a call says while it runs.
#[derive(Debug)]
pub enum Progress {
    /// More of its output.
    Output(String),
    /// Something that it needs to know from a person before it can go on.
    Ask(Elicitation),
}

/// What an MCP server wants to know.
#[derive(Debug)]
pub struct Elicitation {
    /// Which server.
    pub server: String,
    /// The question.
    pub message: String,
    /// What is to be filled in. Empty when it is only to be agreed to.
    pub fields: Vec<Field>,
    /// A page that the person is asked to visit.
    pub url: Option<String>,
    /// Takes the answer. Dropped without one, the server is told that nobody wanted to answer.
    pub answer: oneshot::Sender<QuestionAnswer>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// What the model is told: the beginning and the end, with what was left out between them.
    pub content: String,
    /// All of it, for the log.
    pub whole: String,
    /// Whether it did what it should.
    pub success: bool,
    /// How it ended.
    pub outcome: ToolOutcome,
    /// What it changed.
    pub diff: Option<FileDiff>,
    /// Images that the model is to look at.
    pub images: Vec<Attachment>,
}

impl ToolResult {
    /// It went well.
    pub fn done(text: impl Into<String>) -> Self {
        Self::ended(ToolStatus::Completed, text)
    }

    /// It went badly, and this is what the model and the person should know.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::ended(ToolStatus::Failed, text)
    }

    /// It ended so.
    pub fn ended(status: ToolStatus, text: impl Into<String>) -> Self {
        let whole = text.into();
        Self::told(status, for_model(&whole), whole)
    }

    /// A command ended so, and printed this.
    pub(super) fn printed(status: ToolStatus, printed: &Collected) -> Self {
        Self::told(status, printed.for_model(), printed.text())
    }

    fn told(status: ToolStatus, content: String, whole: String) -> Self {
        Self {
            content,
            whole,
            success: status == ToolStatus::Completed,
            outcome: ToolOutcome::of(status),
            diff: None,
            images: Vec::new(),
        }
    }
}

/// What a toolbox is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSettings {
    /// The work tree.
    pub cwd: PathBuf,
    /// Whether commands may use the network.
    pub network: bool,
    /// Whether commands run in a sandbox where the system has one.
    pub sandbox: bool,
    /// What may run without being asked for, besides commands that only read: the first words of commands
    /// (`cargo test`), and tools of MCP servers (`server.tool`, `server.*`).
    pub allow: Vec<String>,
    /// Variables of our environment that commands do not get: the key of the model API.
    pub secrets: Vec<String>,
    /// The MCP servers to start or to reach.
    pub servers: Vec<McpServer>,
    /// How long they are waited for at the beginning. Those that take longer bring their tools when they are ready.
    pub servers_within: Duration,
    /// How long an MCP server may say nothing during a call.
    pub mcp_timeout: Duration,
    /// The same for some of them, by their names.
    pub mcp_timeouts: BTreeMap<String, Duration>,
}

impl ToolSettings {
    /// Tools for a work tree, without network, rules or servers.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            network: false,
            sandbox: true,
            allow: Vec::new(),
            secrets: Vec::new(),
            servers: Vec::new(),
            servers_within: Duration::from_secs(15),
            mcp_timeout: Duration::from_secs(300),
            mcp_timeouts: BTreeMap::new(),
        }
    }
}
