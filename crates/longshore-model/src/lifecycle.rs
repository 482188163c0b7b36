//! What the life of a session and of a turn is told in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::capability::{Capabilities, Mode};
use crate::event::AgentName;
use crate::id::{Seq, SessionId};
use crate::mcp::McpServer;
use crate::usage::Usage;

/// What an agent calls the conversation: a thread id, a session id.
pub type NativeId = String;

/// How a session came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// The agent that it is a conversation with.
    pub agent: AgentName,
    /// The work tree.
    pub cwd: String,
    /// What the agent may do without asking.
    pub mode: Mode,
    /// The model asked for; none leaves it to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard the agent shall think, in its own words; none leaves it to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The title asked for; none takes it from the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The servers of tools that the agent is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
    /// What this agent can do.
    pub capabilities: Capabilities,
    /// The session that delegated to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The session that this one was forked from, and its last seq that was taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
    /// It was read from a file: what it has until its agent first comes is what the file said, and nobody here remembers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_file: bool,
}

/// Where a fork left its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkPoint {
    /// The origin.
    pub session: SessionId,
    /// The last event that both have.
    pub seq: Seq,
    /// The agent's name for the origin, which it copies its own memory from. None when that holds more than both have:
    /// then the agent is told what they have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeId>,
}

/// What the agent said of itself when it began to listen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// Its name for the conversation, with which it can be resumed. Some give it one only when something is said, and
    /// then say once more that they are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeId>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where the agent keeps its own record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

/// How an agent's process ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sleep {
    /// Why, for programs.
    pub cause: SleepCause,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that killed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The last lines that it wrote to stderr.
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
    /// It could not be started, or refused to begin.
    FailedToStart,
    /// We stopped it.
    Stopped,
    /// The hub went down, and the agent with it.
    HubRestarted,
    /// The hub could not write the log and will not go on unrecorded.
    LogFailed,
    /// It was handed back, so that the agent's own terminal can go on with it.
    Released,
    /// Nobody needed it for a while.
    Idle,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd {
    /// How.
    pub outcome: TurnOutcome,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError>,
    /// What this turn used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What this turn cost, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl TurnEnd {
    /// An end of which only the outcome is known.
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
    /// A stable word.
    pub code: TurnErrorCode,
    /// What the agent said.
    pub message: String,
    /// The agent's own data.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

/// Why a turn failed, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnErrorCode {
    /// The account's allowance is used up.
    UsageLimit,
    /// Too many requests.
    RateLimited,
    /// The model's service is overloaded.
    Overloaded,
    /// The conversation no longer fits the model.
    ContextWindow,
    /// Not logged in, or no longer.
    Unauthorized,
    /// The model's service cannot be reached.
    Network,
    /// The agent did not answer in time.
    Timeout,
    /// The agent's process ended.
    AgentGone,
    /// The agent could not be started.
    AgentUnavailable,
    /// The hub was restarted, and the agent went with it.
    HubRestarted,
    /// None of these.
    Other,
}

/// Something that went wrong outside of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionFault {
    /// A stable word.
    pub code: FaultCode,
}

/// What went wrong, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    /// The agent could not be started.
    StartFailed,
    /// The agent does not remember the conversation; it can go on from our log.
    ResumeFailed,
    /// The agent refused what it was told.
    Refused,
    /// The agent did not answer in time.
    Timeout,
    /// The agent's configuration is broken and it would run with another.
    BadConfiguration,
}

/// Work handed to another session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    /// The session that does it.
    pub child: SessionId,
    /// Its agent.
    pub agent: AgentName,
}

/// How delegated work ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegationEnd {
    /// The session that did it.
    pub child: SessionId,
    /// How.
    pub outcome: TurnOutcome,
}

/// Where a work tree stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitState {
    /// The branch; none when detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The address of `origin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// How many files differ from the commit.
    pub dirty: u32,
}

/// How much of an account's allowance is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageLimit {
    /// What the allowance is for, in the agent's words.
    pub name: String,
    /// How much is gone, in percent.
    pub used_percent: f64,
    /// When it starts over, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<i64>,
}
