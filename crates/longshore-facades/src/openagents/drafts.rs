//! Sessions before their first prompt: the app gets an id, may choose an agent, and only a prompt opens the session.
//!
//! A draft is a note of the hub, so that an id lives across connections and restarts.

use longshore_model::capability::AgentInfo;
use longshore_model::id::SessionId;
use longshore_session::{HubError, OpenRequest, PATH_BYTES};
use serde::{Deserialize, Serialize};

use super::wire::ModeId;
use crate::gate::{Gate, GateError};

/// The folder of the drafts. Their names are ordered by time.
const FOLDER: &str = "openagents-draft";
/// How many drafts there may be. The oldest are forgotten.
pub(crate) const DRAFTS: usize = 256;

/// A session that is not open yet.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SessionDraft {
    /// Which agent it will have.
    pub(crate) mode: ModeId,
    /// The work tree; none for the one that was used last.
    pub(crate) cwd: Option<String>,
}

fn name_of(session: SessionId) -> String {
    session.0.simple().to_string()
}

/// Stores a draft.
pub(crate) async fn put(gate: &Gate, session: SessionId, draft: &SessionDraft) -> Result<(), GateError> {
    if draft.cwd.as_ref().is_some_and(|cwd| cwd.len() > PATH_BYTES) {
        return Err(HubError::Invalid(format!("`cwd` is longer than {PATH_BYTES} bytes")).into());
    }
    let value = serde_json::to_string(draft).unwrap_or_default();
    gate.put_note_among(FOLDER, &name_of(session), value, DRAFTS).await
}

async fn find(gate: &Gate, session: SessionId) -> Result<SessionDraft, GateError> {
    let note = gate.note(&format!("{FOLDER}/{}", name_of(session))).await?;
    note.and_then(|note| serde_json::from_str(&note).ok()).ok_or(GateError::Hub(HubError::UnknownSession))
}

/// Chooses the agent of a draft.
pub(crate) async fn choose(gate: &Gate, session: SessionId, mode: ModeId) -> Result<(), GateError> {
    match find(gate, session).await {
        Ok(draft) => put(gate, session, &SessionDraft { mode, ..draft }).await,
        Err(GateError::Hub(HubError::UnknownSession)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a session if it is a draft. Returns whether it was one.
pub(crate) async fn open(gate: &Gate, session: SessionId) -> Result<bool, GateError> {
    match gate.session(session).await {
        Ok(_) => return Ok(false),
        Err(GateError::Hub(HubError::UnknownSession)) => {}
        Err(error) => return Err(error),
    }
    let draft = find(gate, session).await?;
    let agent = agent_of(draft.mode, &gate.agents().await?);
    let cwd = match draft.cwd {
        Some(cwd) => cwd,
        None => usual_folder(gate).await?,
    };
    gate.open(OpenRequest { agent, cwd, session: Some(session), ..OpenRequest::default() }).await?;
    gate.drop_note(&format!("{FOLDER}/{}", name_of(session))).await?;
    Ok(true)
}

/// The work tree that was used last, or where people begin.
pub(crate) async fn usual_folder(gate: &Gate) -> Result<String, GateError> {
    match gate.recent_folders().await?.into_iter().next() {
        Some(folder) => Ok(folder),
        None => Ok(gate.folders(None).await?.path),
    }
}

/// The agent that a mode stands for. The default is the first of these that is installed.
fn agent_of(mode: ModeId, agents: &[AgentInfo]) -> String {
    match mode {
        ModeId::Codex => "codex".to_owned(),
        ModeId::ClaudeCode => "claude".to_owned(),
        ModeId::Default => {
            let installed = || agents.iter().filter(|agent| agent.path.is_some()).map(|agent| &*agent.name);
            let usual = ["codex", "claude"].into_iter().find(|name| installed().any(|known| known == *name));
            usual.or_else(|| installed().next()).unwrap_or("codex").to_owned()
        }
    }
}

/// The mode that stands for an agent. The app knows two, and loses a notification that names another.
pub(crate) fn mode_of(agent: &str) -> Option<ModeId> {
    match agent {
        "codex" => Some(ModeId::Codex),
        "claude" => Some(ModeId::ClaudeCode),
        _ => None,
    }
}
