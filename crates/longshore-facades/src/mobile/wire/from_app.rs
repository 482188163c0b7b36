//! What the app sends.

use longshore_model::id::SessionId;
use serde::Deserialize;
use serde_json::Value;

use super::ImageData;

/// The first message of the app.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::mobile) enum FirstFrame {
    Pair {
        pairing_token: String,
        device_public_key: String,
        device_id: String,
        #[serde(default)]
        device_name: Option<String>,
    },
    Authenticate {
        /// The JSON of a [`SignedPayload`].
        payload: String,
        signature: String,
    },
    #[serde(other)]
    Other,
}

/// What the app signs to show who it is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::mobile) struct SignedPayload {
    pub(in crate::mobile) timestamp: i64,
    pub(in crate::mobile) nonce: String,
    pub(in crate::mobile) device_id: String,
}

/// A message of the app after the first.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::mobile) enum ClientFrame {
    Ping,
    ListAgents,
    CreateAgent {
        agent_type: String,
        #[serde(default)]
        model: Option<String>,
        #[serde(default)]
        project_id: Option<String>,
        #[serde(default)]
        worktree_path: Option<String>,
    },
    DestroyAgent {
        agent_id: String,
    },
    SendMessage {
        agent_id: String,
        text: String,
        #[serde(default)]
        image_data: Option<ImageData>,
    },
    InterruptAgent {
        agent_id: String,
    },
    RespondPermission {
        agent_id: String,
        request_id: String,
        behavior: Behavior,
        #[serde(default)]
        updated_input: Option<Value>,
    },
    SetAutoApprove {
        agent_id: String,
        enabled: bool,
    },
    GetHistory {
        agent_id: String,
    },
    ListModels {
        agent_type: String,
    },
    ListProjects,
    UnregisterProject {
        project_id: String,
    },
    CreateWorktree {
        project_id: String,
        branch_name: String,
    },
    RemoveWorktree {
        project_id: String,
        worktree_path: String,
    },
    GetGitStatus {
        agent_id: String,
    },
    GetGitDiff {
        agent_id: String,
        #[serde(default)]
        file_path: Option<String>,
    },
    GetWorktreeStatus {
        worktree_path: String,
    },
    GetWorktreeDiff {
        worktree_path: String,
        #[serde(default)]
        file_path: Option<String>,
    },
    GetGitLog {
        project_path: String,
        #[serde(default)]
        max_count: Option<u32>,
    },
    ListSkills,
    GetSkill,
    UpdateSkill,
    SearchSkills,
    InstallSkill {
        package_ref: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::mobile) enum Behavior {
    Allow,
    Deny,
}

impl ClientFrame {
    /// The session whose other commands it must not overtake.
    pub(in crate::mobile) fn lane(&self) -> Option<SessionId> {
        match self {
            ClientFrame::DestroyAgent { agent_id }
            | ClientFrame::SendMessage { agent_id, .. }
            | ClientFrame::InterruptAgent { agent_id }
            | ClientFrame::RespondPermission { agent_id, .. }
            | ClientFrame::SetAutoApprove { agent_id, .. }
            | ClientFrame::GetHistory { agent_id } => agent_id.parse().ok(),
            ClientFrame::Ping
            | ClientFrame::ListAgents
            | ClientFrame::CreateAgent { .. }
            | ClientFrame::ListModels { .. }
            | ClientFrame::ListProjects
            | ClientFrame::UnregisterProject { .. }
            | ClientFrame::CreateWorktree { .. }
            | ClientFrame::RemoveWorktree { .. }
            | ClientFrame::GetGitStatus { .. }
            | ClientFrame::GetGitDiff { .. }
            | ClientFrame::GetWorktreeStatus { .. }
            | ClientFrame::GetWorktreeDiff { .. }
            | ClientFrame::GetGitLog { .. }
            | ClientFrame::ListSkills
            | ClientFrame::GetSkill
            | ClientFrame::UpdateSkill
            | ClientFrame::SearchSkills
            | ClientFrame::InstallSkill { .. }
            | ClientFrame::Other => None,
        }
    }
}
