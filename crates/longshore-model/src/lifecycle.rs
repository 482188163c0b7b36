//! The life of a session and of a turn: how they begin, and how they end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::capability::{Capabilities, Mode};
use crate::event::AgentName;
use crate::id::{Seq, SessionId};
use crate::mcp::McpServer;
use crate::usage::Usage;

/// The agent's name of a conversation: a thread id, a session id.
pub type NativeId = String;

/// The settings with which a session was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// The agent.
    pub agent: AgentName,
    /// The work tree.
    pub cwd: String,
    /// What the agent may do without asking.
    pub mode: Mode,
    /// The requested model; none leaves the choice to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard the agent thinks, in the agent's words; none leaves the choice to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The requested title; none takes the title from the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The MCP servers that the agent gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
    /// What the agent can do.
    pub capabilities: Capabilities,
    /// The session that delegated to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The session from which this one was forked, and the last seq that both share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
    /// Whether the session was read from a file. Until its agent first starts, the session has only what the
    /// file said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_file: bool,
}

/// The point at which a fork left its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkPoint {
    /// The session from which the fork was made.
    pub session: SessionId,
    /// The last event that both sessions share.
    pub seq: Seq,
    /// The agent's name of the original conversation, whose memory the agent copies. None if that memory
    /// holds more than both sessions share; then the hub tells the agent what they share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeId>,
}

/// What the agent reported when it became ready for prompts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// The agent's name of the conversation, with which it can resume. Some agents name a conversation only
    /// at the first prompt, and then report ready a second time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeId>,
    /// The agent's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model that the agent uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The path of the agent's own record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

/// How an agent's process ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sleep {
    /// The reason, for programs.
    pub cause: SleepCause,
    /// The exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that killed the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The last lines of stderr.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// Why a session sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SleepCause {
    /// The agent ended by itself, or was killed.
    #[default]
    Exited,
    /// The agent could not start, or refused to begin.
    FailedToStart,
    /// The hub stopped the agent.
    Stopped,
    /// The hub stopped, and the agent with it.
    HubRestarted,
    /// The hub could not write the log, so it stopped the agent.
    LogFailed,
    /// A person released the session, so that the agent's own terminal can continue.
    Released,
    /// The agent was idle for a long time.
    Idle,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd {
    /// The outcome.
    pub outcome: TurnOutcome,
    /// The error, if the turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError>,
    /// The tokens that this turn used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The cost of this turn, if the agent reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How long the turn took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl TurnEnd {
    /// A turn's end with only an outcome.
    pub fn of(outcome: TurnOutcome) -> Self {
        Self { outcome, error: None, usage: None, cost_usd: None, duration_ms: None }
    }
}

/// How a turn can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum TurnOutcome {
    Completed,
    Failed,
    Interrupted,
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnError {
    /// The kind of error, for programs.
    pub code: TurnErrorCode,
    /// The agent's message.
    pub message: String,
    /// The agent's own data.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

/// Why a turn failed, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnErrorCode {
    /// The account's allowance is used up.
    UsageLimit,
    /// Too many requests.
    RateLimited,
    /// The model service is overloaded.
    Overloaded,
    /// The conversation no longer fits the model's context window.
    ContextWindow,
    /// Nobody is logged in, or the login has expired.
    Unauthorized,
    /// The model service cannot be reached.
    Network,
    /// The agent did not answer in time.
    Timeout,
    /// The agent's process ended.
    AgentGone,
    /// The agent could not start.
    AgentUnavailable,
    /// The hub was restarted, and the agent stopped with it.
    HubRestarted,
    /// Another error.
    Other,
}

/// An error outside of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionFault {
    /// The kind of error, for programs.
    pub code: FaultCode,
}

/// The kind of an error outside of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    /// The agent could not start.
    StartFailed,
    /// The agent does not remember the conversation. It can continue from the log.
    ResumeFailed,
    /// The agent refused a command.
    Refused,
    /// The agent did not answer in time.
    Timeout,
    /// The agent's configuration is broken, and the agent would run with another one.
    BadConfiguration,
}

/// Work that a session gave to another session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    /// The session that does the work.
    pub child: SessionId,
    /// The agent of that session.
    pub agent: AgentName,
}

/// How delegated work ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegationEnd {
    /// The session that did the work.
    pub child: SessionId,
    /// The outcome.
    pub outcome: TurnOutcome,
}

/// The git state of a work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitState {
    /// The branch; none if HEAD is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The address of `origin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The number of files that differ from the commit.
    pub dirty: u32,
}

/// How much of an account's allowance is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageLimit {
    /// The name of the allowance, in the agent's words.
    pub name: String,
    /// How much is used, in percent.
    pub used_percent: f64,
    /// When the allowance starts over, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<i64>,
}
