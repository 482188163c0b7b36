//! The messages between the loop and its tools.

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

use super::bound::{BoundedOutput, for_model};

/// A tool call as the model wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolInvocation {
    /// The id, unique within the session.
    pub id: String,
    /// The name of the tool: `shell`, `server.tool`, `server__tool`.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
}

/// The judge's decision about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallVerdict {
    /// The call may run.
    Go,
    /// The call may run if a person approves it.
    Ask(CallApproval),
    /// The call may not run; the model gets the reason.
    Refuse(String),
}

/// The approval that a call needs.
#[derive(Clone, Debug, PartialEq)]
pub struct CallApproval {
    /// Why the call needs an approval, in a sentence.
    pub reason: String,
    /// The risks of the call.
    pub risks: Vec<Risk>,
    /// The subject of the approval. [`CallApproval::always`] has the rules for the whole session.
    pub subject: Subject,
    /// The rules that an approval for the whole session adds, see [`Toolbox::allow`](super::Toolbox::allow). Empty if
    /// the approval can count for this call only.
    pub always: Vec<String>,
}

/// A risk of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Risk {
    /// The call affects something outside of the work tree.
    Outside,
    /// The call talks to other machines.
    Network,
    /// The call deletes something.
    Deletes,
    /// The call runs without a sandbox.
    Unsandboxed,
}

impl Risk {
    /// The risk in a few words, for people.
    pub fn text(self) -> &'static str {
        match self {
            Risk::Outside => "outside of the work tree",
            Risk::Network => "uses the network",
            Risk::Deletes => "deletes",
            Risk::Unsandboxed => "without a sandbox",
        }
    }
}

/// The permission for a running call. The judge checks the call again with it, because the facts may have changed since
/// the approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    /// The session's mode.
    pub mode: Mode,
    /// Whether a person approved the call.
    pub approved: bool,
}

/// The progress of a running call.
#[derive(Debug)]
pub enum Progress {
    /// Further output.
    Output(String),
    /// A question for a person. The call continues after the answer.
    Ask(Elicitation),
}

/// A question of an MCP server.
#[derive(Debug)]
pub struct Elicitation {
    /// The server.
    pub server: String,
    /// The question.
    pub message: String,
    /// The fields to fill in. Empty if the person only has to agree.
    pub fields: Vec<Field>,
    /// A page that the person is asked to visit.
    pub url: Option<String>,
    /// Takes the answer. If it is dropped, the server learns that nobody answered.
    pub answer: oneshot::Sender<QuestionAnswer>,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The text for the model: beginning and end, with a note of what is left out.
    pub content: String,
    /// The whole text, for the log.
    pub whole: String,
    /// Whether the call succeeded.
    pub success: bool,
    /// The outcome for clients.
    pub outcome: ToolOutcome,
    /// The file changes of the call.
    pub diff: Option<FileDiff>,
    /// Images for the model.
    pub images: Vec<Attachment>,
}

impl ToolResult {
    /// A successful result.
    pub fn done(text: impl Into<String>) -> Self {
        Self::ended(ToolStatus::Completed, text)
    }

    /// The result of a failed call. The text is for the model and for people.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::ended(ToolStatus::Failed, text)
    }

    /// A result with this status.
    pub fn ended(status: ToolStatus, text: impl Into<String>) -> Self {
        let whole = text.into();
        Self::told(status, for_model(&whole), whole)
    }

    /// The result of a command that printed this output.
    pub(super) fn printed(status: ToolStatus, printed: &BoundedOutput) -> Self {
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

/// The settings of a toolbox.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSettings {
    /// The work tree.
    pub cwd: PathBuf,
    /// Whether commands may use the network.
    pub network: bool,
    /// Whether commands run in a sandbox, if the system has one.
    pub sandbox: bool,
    /// The calls that need no approval, besides commands that only read. A rule is the first words of a command, such
    /// as `cargo test`, or a tool of an MCP server (`server.tool`, `server.*`).
    pub allow: Vec<String>,
    /// Variables of the agent's environment that commands do not get: the key of the model API.
    pub secrets: Vec<String>,
    /// The MCP servers.
    pub servers: Vec<McpServer>,
    /// How long the session waits for MCP servers at its start. Slower servers bring their tools when they
    /// are ready.
    pub servers_within: Duration,
    /// How long an MCP server may be silent during a call.
    pub mcp_timeout: Duration,
    /// The same for single servers, by name.
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
