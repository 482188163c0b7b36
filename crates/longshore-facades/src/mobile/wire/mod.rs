//! The messages of mobile-agent, with its names. All are flat JSON with a `type`; those of the hub also have `ts`.
//!
//! ```text
//! app   pair | authenticate                      once, first
//! hub   connected                                nothing before it counts
//! app   getHistory per agent, listProjects, listSkills, ping every 45 s
//! app   sendMessage          hub  userMessage (to all), streamChunk..., assistantMessage, toolResults, agentResult
//! hub   permissionRequest    app  respondPermission
//! ```
//!
//! No message has an id of its own: an answer names the agent or the path that it is about.

mod from_app;

use longshore_model::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(super) use from_app::{Behavior, ClientFrame, FirstFrame, SignedPayload};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImageData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<String>,
}

/// A message of the hub.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum ServerFrame {
    AuthError {
        error: String,
    },
    Connected {
        device_id: String,
        agents: Vec<AgentSnapshot>,
        /// The hub's signature of the payload that the app signed in with. The app does not check it.
        #[serde(skip_serializing_if = "Option::is_none")]
        server_signature: Option<String>,
    },
    Pong,
    Error {
        error: String,
    },
    AgentList {
        agents: Vec<AgentSnapshot>,
    },
    AgentCreated {
        agent: Box<AgentSnapshot>,
    },
    AgentDestroyed {
        agent_id: String,
    },
    AgentUpdated {
        agent_id: String,
        #[serde(flatten)]
        changed: AgentChange,
    },
    UserMessage {
        agent_id: String,
        content: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        image_data: Option<ImageData>,
    },
    StreamChunk {
        agent_id: String,
        text: String,
    },
    AssistantMessage {
        agent_id: String,
        content: Vec<ContentBlock>,
    },
    ToolResults {
        agent_id: String,
        results: Vec<ContentBlock>,
    },
    ToolUseUpdated {
        agent_id: String,
        tool_call_id: String,
        input: Value,
    },
    ToolProgress {
        agent_id: String,
        tool_name: String,
        /// In seconds.
        elapsed: u64,
    },
    PermissionRequest {
        agent_id: String,
        #[serde(flatten)]
        asked: Permission,
    },
    AgentResult {
        agent_id: String,
        cost: f64,
        total_cost: f64,
        usage: TokenCounts,
        duration: u64,
        is_error: bool,
        output_tokens: u64,
        context_used_percent: u8,
    },
    AgentHistory {
        agent_id: String,
        messages: Vec<AgentMessage>,
        pending_permissions: Vec<Permission>,
    },
    ProjectList {
        projects: Vec<ProjectRow>,
    },
    ModelList {
        agent_type: String,
        models: Vec<ModelRow>,
    },
    WorktreeCreated {
        project_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        worktree: Option<WorktreeRow>,
        worktrees: Vec<WorktreeRow>,
    },
    WorktreeRemoved {
        project_id: String,
        worktree_path: String,
        worktrees: Vec<WorktreeRow>,
    },
    GitStatus {
        agent_id: String,
        #[serde(flatten)]
        status: StatusRow,
    },
    WorktreeStatus {
        worktree_path: String,
        #[serde(flatten)]
        status: StatusRow,
    },
    GitDiff {
        agent_id: String,
        file_path: Option<String>,
        diff: String,
    },
    WorktreeDiff {
        worktree_path: String,
        file_path: Option<String>,
        diff: String,
    },
    GitLog {
        project_path: String,
        commits: Vec<CommitRow>,
    },
    SkillList {
        skills: Vec<Value>,
    },
    SkillSearchResults {
        results: Vec<Value>,
    },
    SkillInstallProgress {
        package_ref: String,
        /// The app reads the second, its own server sent the first.
        status: &'static str,
        install_status: &'static str,
        error: String,
    },
}

impl ServerFrame {
    /// Why a request was refused. The app does not show it.
    pub(super) fn error(error: impl std::fmt::Display) -> Self {
        ServerFrame::Error { error: error.to_string() }
    }

    pub(super) fn unknown_agent() -> Self {
        Self::error("no session has this id")
    }

    pub(super) fn too_many() -> Self {
        Self::error("too many requests at once; wait for answers")
    }

    /// The text of the message, sent now.
    pub(super) fn to_text(&self, now: Timestamp) -> String {
        #[derive(Serialize)]
        struct Stamped<'a> {
            #[serde(flatten)]
            frame: &'a ServerFrame,
            ts: i64,
        }
        let stamped = Stamped { frame: self, ts: millis(now) };
        serde_json::to_string(&stamped).unwrap_or_else(|_| "{\"type\":\"error\"}".to_owned())
    }
}

/// Milliseconds since 1970, in which the app counts.
pub(super) fn millis(time: Timestamp) -> i64 {
    time.micros() / 1_000
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentSnapshot {
    pub(super) id: String,
    pub(super) r#type: &'static str,
    pub(super) status: &'static str,
    pub(super) session_id: Option<String>,
    pub(super) session_name: String,
    pub(super) model: Option<String>,
    pub(super) cwd: String,
    pub(super) git_branch: Option<String>,
    pub(super) project_name: Option<String>,
    pub(super) total_cost: f64,
    pub(super) context_used_percent: u8,
    pub(super) output_tokens: u64,
    pub(super) last_output: String,
    pub(super) pending_permissions: Vec<Permission>,
    pub(super) created_at: i64,
    pub(super) auto_approve: bool,
}

/// What changed of an agent. What did not change, or is empty now, is left out: the app applies every key that is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) git_branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) project_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) auto_approve: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Permission {
    pub(super) request_id: String,
    pub(super) tool_name: String,
    pub(super) tool_input: Value,
    pub(super) timestamp: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum ContentBlock {
    Text { text: String },
    Thinking { text: String },
    ToolUse { id: String, name: String, input: Value },
    ToolResult { tool_use_id: String, content: String },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentMessage {
    pub(super) id: String,
    pub(super) r#type: Speaker,
    pub(super) content: Said,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) image_data: Option<ImageData>,
    pub(super) timestamp: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Speaker {
    User,
    Assistant,
    System,
}

/// The app drops a message of a user whose content is no text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Said {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct TokenCounts {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ModelRow {
    pub(super) value: String,
    pub(super) label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ProjectRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) path: String,
    pub(super) icon: &'static str,
    pub(super) worktrees: Vec<WorktreeRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorktreeRow {
    pub(super) path: String,
    pub(super) branch: String,
    pub(super) is_main: bool,
    pub(super) status: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct StatusRow {
    pub(super) branch: String,
    pub(super) ahead: u32,
    pub(super) behind: u32,
    pub(super) files: Vec<FileRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct FileRow {
    pub(super) file: String,
    pub(super) status: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommitRow {
    pub(super) hash: String,
    pub(super) abbrev_hash: String,
    pub(super) parents: Vec<String>,
    pub(super) subject: String,
    pub(super) author: String,
    pub(super) relative_time: String,
    pub(super) refs: Vec<String>,
}
