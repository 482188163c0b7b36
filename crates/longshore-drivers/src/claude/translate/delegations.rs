//! Sub-agents: each sub-agent is a session of its own, and the call that gave it work is a delegation.
//!
//! `task_started` announces a sub-agent, and the sub-agent's frames name the call in `parent_tool_use_id`. An
//! older Claude announces nothing. `task_notification` ends the work, after the sub-agent's last frame. A
//! sub-agent in the background outlives the turn that began it, and its end begins a turn.

use longshore_model::event::{AgentName, Body, Draft};
use longshore_model::id::{ItemId, SessionId, TurnId};
use longshore_model::item::ToolStatus;
use longshore_model::lifecycle::{Delegation, DelegationEnd, Opened, Ready, TurnEnd, TurnOutcome};
use serde_json::Value;

use super::Claude;
use super::conversation::{ClaudeConversation, ClaudeParent, MAIN};
use crate::claude::wire::{Line, System};
use crate::claude::{child_capabilities, name};
use crate::kit::Scribe;

/// The most sub-agents of one process. The main conversation keeps the frames of further ones.
const CHILD_LIMIT: usize = 1_000;

impl Claude {
    /// Handles a frame of a sub-agent without an announcement.
    pub(super) fn child_speaks(&mut self, line: &Line<'_>, scribe: &mut Scribe<'_>) {
        let call = line.parent_tool_use_id.as_ref();
        if !call.is_empty() && !self.children.contains_key(call) {
            self.delegate(call, None, None, &mut scribe.bare());
        }
    }

    /// `task_started`: a sub-agent, or a command that takes long.
    pub(super) fn task_started(&mut self, said: &System, scribe: &mut Scribe<'_>) {
        let is_agent =
            said.task_type == "local_agent" || (said.task_type.is_empty() && said.prompt.is_some());
        if !is_agent || said.tool_use_id.is_empty() {
            return;
        }
        let task = Some(said.task_id.as_str()).filter(|task| !task.is_empty());
        let prompt = said.prompt.as_deref().or(said.description.as_deref());
        self.delegate(&said.tool_use_id, task, prompt, scribe);
    }

    /// A call delegates work to a sub-agent: a new one, or one that has worked before.
    fn delegate(&mut self, call: &str, task: Option<&str>, prompt: Option<&str>, scribe: &mut Scribe<'_>) {
        self.begin_lined(call, scribe);
        let tool = self.tools.get(call);
        let by = tool.map_or(MAIN, |tool| tool.conversation);
        let Some(giver) = self.conversations.get(by) else { return };
        let (session, turn, item) =
            (giver.session, tool.map_or(giver.turn, |tool| tool.turn), tool.map(|tool| tool.item));
        let told = tool.and_then(|tool| tool.call.input["prompt"].as_str().map(str::to_owned));
        let prompt = prompt.map(str::to_owned).or(told);
        let known =
            task.and_then(|task| self.children.get(task)).or_else(|| self.children.get(call)).copied();
        let at = match known {
            Some(at) if self.works(at) => {
                // The sub-agent's frames came before its announcement.
                self.name_child(at, call, task);
                return;
            }
            Some(at) => at,
            None if self.conversations.len() > CHILD_LIMIT => return,
            None => {
                self.conversations.push(ClaudeConversation::new(SessionId::mint(&mut scribe.cx)));
                self.conversations.len() - 1
            }
        };
        let child = self.conversations[at].session;
        let began = TurnId::mint(&mut scribe.cx);
        // The delegation comes first, so that clients know the child before its first event.
        let agent = self.home.as_ref().map_or_else(name, |home| AgentName::clone(&home.agent));
        let delegation = Delegation { child, agent };
        let mut draft = Draft::new(Body::DelegationStarted(delegation)).turn(turn).item(item);
        draft.text.clone_from(&prompt);
        scribe.quote_once(session, draft);
        if known.is_none() {
            self.open_child(at, session, task.unwrap_or(call), scribe);
        }
        let task = task.map(str::to_owned);
        let conversation = &mut self.conversations[at];
        conversation.turn = Some(began);
        conversation.last_message.clear();
        conversation.parent = Some(ClaudeParent {
            session,
            turn,
            item,
            task: task.clone(),
            working: true,
            background: false,
            prompted: false,
        });
        scribe.say(child, Draft::new(Body::TurnStarted { prompt: None }).turn(began));
        self.name_child(at, call, task.as_deref());
        if let Some(prompt) = prompt {
            self.child_was_told(at, &prompt, &mut scribe.bare());
        }
    }

    fn name_child(&mut self, at: usize, call: &str, task: Option<&str>) {
        self.children.insert(call.to_owned(), at);
        if let Some(task) = task {
            self.children.insert(task.to_owned(), at);
            if let Some(parent) =
                self.conversations.get_mut(at).and_then(|conversation| conversation.parent.as_mut())
            {
                parent.task = Some(task.to_owned());
            }
        }
    }

    fn works(&self, at: usize) -> bool {
        let parent = self.conversations.get(at).and_then(|conversation| conversation.parent.as_ref());
        parent.is_some_and(|parent| parent.working)
    }

    fn open_child(&mut self, at: usize, parent: SessionId, native: &str, scribe: &mut Scribe<'_>) {
        let (Some(home), Some(conversation)) = (&self.home, self.conversations.get(at)) else { return };
        let opened = Opened {
            agent: AgentName::clone(&home.agent),
            cwd: home.cwd.clone(),
            mode: home.mode,
            model: home.model.clone(),
            effort: None,
            title: None,
            mcp_servers: Vec::new(),
            capabilities: child_capabilities(),
            parent: Some(parent),
            forked_from: None,
            from_file: false,
        };
        scribe.say(conversation.session, Draft::new(Body::SessionOpened(Box::new(opened))));
        let ready = Ready {
            native: Some(native.to_owned()),
            version: home.version.clone(),
            model: home.model.clone(),
            transcript: None,
        };
        scribe.say(conversation.session, Draft::new(Body::SessionReady(ready)));
    }

    /// The prompt of a sub-agent. The driver emits it once, from the announcement or from the prompt's own
    /// frame.
    pub(super) fn child_was_told(&mut self, at: usize, text: &str, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(at) else { return };
        let Some(parent) = conversation.parent.as_mut().filter(|parent| !parent.prompted) else { return };
        parent.prompted = true;
        let said = Body::UserMessage { prompt: None, attachments: Vec::new(), by: None };
        let draft = Draft::new(said).turn(conversation.turn).item(ItemId::mint(&mut scribe.cx)).text(text);
        scribe.quote_once(conversation.session, draft);
    }

    /// `task_notification`: a sub-agent has finished its work.
    pub(super) fn task_ended(&mut self, said: &System, scribe: &mut Scribe<'_>) {
        let at = self.children.get(&said.task_id).or_else(|| self.children.get(&said.tool_use_id)).copied();
        let outcome = match said.status.as_deref() {
            Some("failed" | "error") => TurnOutcome::Failed,
            Some("stopped" | "killed") => TurnOutcome::Interrupted,
            Some(_) | None => TurnOutcome::Completed,
        };
        if let Some(at) = at {
            self.child_ended(at, outcome, scribe);
        }
    }

    /// The delegating call has its result. An announced sub-agent reports its end itself.
    pub(super) fn delegating_call_ended(
        &mut self,
        call: &str,
        status: ToolStatus,
        data: &Value,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(at) = self.children.get(call).copied() else { return };
        let Some(parent) =
            self.conversations.get_mut(at).and_then(|conversation| conversation.parent.as_mut())
        else {
            return;
        };
        parent.background |= data["status"] == "async_launched";
        if parent.background || parent.task.is_some() {
            return;
        }
        let outcome = match status {
            ToolStatus::Completed | ToolStatus::Running => TurnOutcome::Completed,
            ToolStatus::Failed => TurnOutcome::Failed,
            ToolStatus::Declined | ToolStatus::Cancelled => TurnOutcome::Interrupted,
        };
        self.child_ended(at, outcome, &mut scribe.bare());
    }

    /// The turn failed or was stopped, so sub-agents that worked only for this turn stop.
    pub(super) fn stop_children(&mut self, turn: TurnId, outcome: TurnOutcome, scribe: &mut Scribe<'_>) {
        if outcome == TurnOutcome::Completed {
            return;
        }
        let stops = |by: &ClaudeParent| by.working && !by.background && by.turn == Some(turn);
        let of = |conversation: &ClaudeConversation| conversation.parent.as_ref().is_some_and(stops);
        let left: Vec<usize> =
            (0..self.conversations.len()).filter(|at| of(&self.conversations[*at])).collect();
        for at in left {
            self.child_ended(at, TurnOutcome::Interrupted, &mut scribe.bare());
        }
    }

    fn child_ended(&mut self, at: usize, outcome: TurnOutcome, scribe: &mut Scribe<'_>) {
        if !self.works(at) {
            return;
        }
        self.leave_behind(at, scribe);
        let Some(conversation) = self.conversations.get_mut(at) else { return };
        let (session, result) = (conversation.session, std::mem::take(&mut conversation.last_message));
        let turn = conversation.turn.take();
        let Some(parent) = &mut conversation.parent else { return };
        parent.working = false;
        let end = DelegationEnd { child: session, outcome };
        let mut finished = Draft::new(Body::DelegationFinished(end)).turn(parent.turn).item(parent.item);
        finished.text = Some(result).filter(|result| !result.is_empty());
        let by = parent.session;
        if let Some(turn) = turn {
            self.requests.forget(session, turn);
            scribe.say(session, Draft::new(Body::TurnFinished(TurnEnd::of(outcome))).turn(turn));
        }
        scribe.quote(by, finished);
    }
}
