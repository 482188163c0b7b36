//! Sessions as agents of the app, and which of them a connection shows.

use std::collections::HashMap;

use longshore_model::capability::Mode;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::{Activity, SessionInfo, Status};

use super::beginning;
use super::permissions::{of_approval, of_question};
use crate::mobile::wire::{AgentChange, AgentSnapshot, ServerFrame, millis};

/// The most sessions that a connection shows.
const SHOWN: usize = 200;
/// The most bytes of the last output.
const LAST_OUTPUT: usize = 2_000;
/// The name of a session without a title.
const UNNAMED: &str = "New Agent";

/// The nearest of the three types that the app draws.
fn type_of(provider: &str) -> &'static str {
    match provider {
        claude if claude.starts_with("claude") => "claude",
        codex if codex.starts_with("codex") => "codex",
        _ => "opencode",
    }
}

/// The agent that the app means by a type.
pub(in crate::mobile) fn agent_of_type(agent_type: &str) -> Option<&'static str> {
    ["claude", "codex", "opencode"].into_iter().find(|known| *known == agent_type)
}

fn status_of(info: &SessionInfo) -> &'static str {
    match (info.activity, info.status) {
        (Activity::Starting, _) => "starting",
        (Activity::Working, _) => "running",
        (Activity::Waiting, _) => "awaiting_permission",
        (Activity::Closed, _) => "exited",
        (Activity::Idle | Activity::Sleeping, Status::Error) => "error",
        (
            Activity::Idle | Activity::Sleeping,
            Status::Active | Status::Idle | Status::Completed | Status::Interrupted,
        ) => "idle",
    }
}

/// The title, with the agent's true name if the app has no type for it.
fn name_of(info: &SessionInfo) -> String {
    let title = if info.title.trim().is_empty() { UNNAMED } else { &info.title };
    match type_of(&info.provider) == &*info.provider {
        true => title.to_owned(),
        false => format!("{title} ({})", info.provider),
    }
}

/// A session as the app draws it.
pub(in crate::mobile) fn snapshot(info: &SessionInfo) -> AgentSnapshot {
    let approvals = info.approvals.iter().map(|open| of_approval(&info.provider, open));
    let questions = info.questions.iter().map(of_question);
    let preview = info.preview.as_deref().unwrap_or_default();
    AgentSnapshot {
        id: info.session_id.to_string(),
        r#type: type_of(&info.provider),
        status: status_of(info),
        session_id: info.native.clone(),
        session_name: name_of(info),
        model: info.model.clone(),
        cwd: info.cwd.clone(),
        git_branch: info.git.as_ref().and_then(|git| git.branch.clone()),
        project_name: info.project.clone(),
        total_cost: info.cost_usd.unwrap_or_default(),
        context_used_percent: info.context_percent.unwrap_or_default(),
        output_tokens: info.usage.output.unwrap_or_default(),
        last_output: beginning(preview, LAST_OUTPUT).to_owned(),
        pending_permissions: approvals.chain(questions).collect(),
        created_at: millis(info.created_at),
        auto_approve: info.mode == Mode::Full,
    }
}

/// The agents that a connection shows, as the app knows them.
#[derive(Debug, Default)]
pub(in crate::mobile) struct ShownAgents {
    agents: HashMap<SessionId, AgentSnapshot>,
    /// How far each row went: an older one says nothing new.
    heads: HashMap<SessionId, Seq>,
}

impl ShownAgents {
    /// Whether the app knows this session.
    pub(in crate::mobile) fn has(&self, session: SessionId) -> bool {
        self.agents.contains_key(&session)
    }

    /// Takes a row, and returns what the app must hear of it.
    pub(in crate::mobile) fn take(&mut self, info: &SessionInfo) -> Option<ServerFrame> {
        let session = info.session_id;
        if self.heads.get(&session).is_some_and(|head| info.head < *head) {
            return None;
        }
        if info.archived || (info.activity == Activity::Closed && !self.has(session)) {
            return self.forget(session);
        }
        let now = snapshot(info);
        let Some(before) = self.agents.get(&session) else {
            if self.agents.len() >= SHOWN {
                return None;
            }
            self.heads.insert(session, info.head);
            self.agents.insert(session, now.clone());
            // All that happened in it follows, with what waits.
            let agent = Box::new(AgentSnapshot { pending_permissions: Vec::new(), ..now });
            return Some(ServerFrame::AgentCreated { agent });
        };
        let changed = change(before, &now);
        self.heads.insert(session, info.head);
        self.agents.insert(session, now);
        let agent_id = session.to_string();
        (changed != AgentChange::default()).then_some(ServerFrame::AgentUpdated { agent_id, changed })
    }

    /// Takes a session away.
    pub(in crate::mobile) fn forget(&mut self, session: SessionId) -> Option<ServerFrame> {
        self.heads.remove(&session);
        self.agents.remove(&session)?;
        Some(ServerFrame::AgentDestroyed { agent_id: session.to_string() })
    }

    /// Their ids.
    pub(in crate::mobile) fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.agents.keys().copied()
    }

    /// All of them, the newest first.
    pub(in crate::mobile) fn all(&self) -> Vec<AgentSnapshot> {
        let mut all: Vec<AgentSnapshot> = self.agents.values().cloned().collect();
        all.sort_by_key(|agent| std::cmp::Reverse(agent.created_at));
        all
    }
}

/// What changed, as far as the app can take it: a value that became empty cannot be said.
fn change(before: &AgentSnapshot, now: &AgentSnapshot) -> AgentChange {
    fn text(before: Option<&String>, now: Option<&String>) -> Option<String> {
        now.filter(|text| before != Some(*text) && !text.is_empty()).cloned()
    }
    AgentChange {
        status: (before.status != now.status).then_some(now.status),
        session_id: text(before.session_id.as_ref(), now.session_id.as_ref()),
        session_name: text(Some(&before.session_name), Some(&now.session_name)),
        model: text(before.model.as_ref(), now.model.as_ref()),
        cwd: text(Some(&before.cwd), Some(&now.cwd)),
        git_branch: text(before.git_branch.as_ref(), now.git_branch.as_ref()),
        project_name: text(before.project_name.as_ref(), now.project_name.as_ref()),
        auto_approve: (before.auto_approve != now.auto_approve).then_some(now.auto_approve),
    }
}
