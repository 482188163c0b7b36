//! A session in one row, as lists show it.

use std::sync::Arc;

use super::{AgentState, OpenItem, OpenKind, Session, brief};
use crate::info::{Activity, SessionInfo, Status};
use crate::lifecycle::TurnOutcome;

/// The most characters of a title that comes from a first prompt.
const TITLE_CHARS: usize = 80;
/// The most characters of a preview.
pub(super) const PREVIEW_CHARS: usize = 240;

impl Session {
    /// The session for lists and listeners: long waiting texts are cut.
    pub fn row(&self) -> SessionInfo {
        let mut row = self.without_asks();
        row.queue.iter_mut().for_each(brief::prompt);
        brief::names(&mut row);
        row.approvals = self.approvals.values().map(|ask| ask.brief.clone()).collect();
        row.questions = self.questions.values().map(|ask| ask.brief.clone()).collect();
        row
    }

    /// The session with all waiting texts whole.
    pub fn info(&self) -> SessionInfo {
        let approvals = self.approvals.values().map(|ask| ask.whole.clone()).collect();
        let questions = self.questions.values().map(|ask| ask.whole.clone()).collect();
        SessionInfo { approvals, questions, ..self.without_asks() }
    }

    fn without_asks(&self) -> SessionInfo {
        let child_waits = self.delegations.values().any(|open| open.waiting);
        let asks = !self.approvals.is_empty() || !self.questions.is_empty();
        let activity = match (self.closed, self.agent_state, self.turn) {
            (true, _, _) => Activity::Closed,
            (_, AgentState::Starting { .. }, _) => Activity::Starting,
            (_, _, Some(_)) if asks || child_waits => Activity::Waiting,
            (_, _, Some(_)) => Activity::Working,
            (_, AgentState::Ready, None) => Activity::Idle,
            (_, AgentState::Asleep | AgentState::Ending(_), None) => Activity::Sleeping,
        };
        let status = match (activity, self.last_outcome) {
            (Activity::Closed, _) => Status::Completed,
            (Activity::Starting | Activity::Working | Activity::Waiting, _) => Status::Active,
            (_, Some(TurnOutcome::Failed)) => Status::Error,
            (_, Some(TurnOutcome::Interrupted)) => Status::Interrupted,
            (_, Some(TurnOutcome::Completed) | None) => Status::Idle,
        };
        let project =
            self.opened.cwd.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty());
        let metadata = [("agentVersion", &self.version), ("transcript", &self.transcript)];
        SessionInfo {
            provider: Arc::clone(&self.opened.agent),
            session_id: self.id,
            title: self.title.clone(),
            project: project.map(str::to_owned),
            repo: self.git.as_ref().and_then(|git| git.remote.clone()),
            status,
            created_at: self.created_at,
            updated_at: self.acts.last(),
            touched_at: self.acts.of_person(),
            preview: self.preview(),
            metadata: metadata
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value.clone()?.into())))
                .collect(),
            raw_session: None,
            activity,
            cwd: self.opened.cwd.clone(),
            mode: self.opened.mode,
            model: self.model.clone(),
            effort: self.effort.clone(),
            mcp_servers: self.opened.mcp_servers.clone(),
            native: self.native.clone(),
            imported: self.imported,
            capabilities: self.opened.capabilities.clone(),
            head: self.head,
            turn: self.turn.map(|turn| turn.id),
            queue: self.queue.iter().map(|waiting| waiting.queued.without_data()).collect(),
            queue_held: self.has_held(),
            cut_by_restart: self.cut && !self.closed,
            approvals: Vec::new(),
            questions: Vec::new(),
            usage: self.usage,
            context_percent: self.usage.context_percent(),
            cost_usd: self.cost_usd,
            git: self.git.clone(),
            commands: self.commands.clone(),
            archived: self.archived,
            parent: self.opened.parent,
            forked_from: self.opened.forked_from.clone(),
        }
    }

    /// The end of the last message, or of the message that grows right now.
    fn preview(&self) -> Option<String> {
        let grows = |item: &&OpenItem| item.kind == OpenKind::Message && !item.text.trim().is_empty();
        let text = self.open.values().rev().find(grows).map_or(self.last_text.as_str(), |item| &item.text);
        let tail = tail(text.trim(), PREVIEW_CHARS);
        (!tail.is_empty()).then(|| tail.to_owned())
    }
}

/// The last `chars` characters.
pub(super) fn tail(text: &str, chars: usize) -> &str {
    match text.char_indices().rev().nth(chars.saturating_sub(1)) {
        Some((at, _)) => &text[at..],
        None => text,
    }
}

/// A title from a prompt: its first line with words, cut at a word.
pub fn title_of(prompt: &str) -> String {
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= TITLE_CHARS {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE_CHARS).collect();
    let whole = cut.rfind(' ').filter(|at| *at > TITLE_CHARS / 2).map_or(cut.as_str(), |at| &cut[..at]);
    format!("{}…", whole.trim_end())
}
