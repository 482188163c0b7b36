//! Sub-agents: each is a session of its own, and the call that gave it work is a delegation.
//!
//! `task_started` announces one, and its frames name the call in `parent_tool_use_id`; an older program announces nothing.
//! Its work is over with `task_notification`, after its last frame. One that works in the background outlives the turn
//! that began it, and its end begins a turn.

use longshore_model::driver::Output;
use longshore_model::event::{AgentName, Body, Draft, Raw};
use longshore_model::id::{Context, ItemId, SessionId, TurnId};
use longshore_model::item::ToolStatus;
use longshore_model::lifecycle::{Delegation, DelegationEnd, Opened, Ready, TurnEnd, TurnOutcome};
use serde_json::Value;

use super::Claude;
use super::conversation::{ClaudeConversation, ClaudeParent, MAIN};
use crate::claude::wire::{Line, System};
use crate::claude::{child_capabilities, name};

/// How many sub-agents one process may have; what others say is kept in the conversation itself.
const CHILD_LIMIT: usize = 1_000;

impl Claude {
    /// A frame of a sub-agent whom nobody announced.
    pub(super) fn child_speaks(&mut self, line: &Line<'_>, cx: &mut Context<'_>, out: &mut Output) {
        let call = line.parent_tool_use_id.as_ref();
        if !call.is_empty() && !self.children.contains_key(call) {
            self.delegate(call, None, None, &mut None, cx, out);
        }
    }

    /// `task_started`: a sub-agent, or a command that takes long.
    pub(super) fn task_started(&mut self, said: &System, raw: &Raw, cx: &mut Context<'_>, out: &mut Output) {
        let is_agent =
            said.task_type == "local_agent" || (said.task_type.is_empty() && said.prompt.is_some());
        if !is_agent || said.tool_use_id.is_empty() {
            return;
        }
        let task = Some(said.task_id.as_str()).filter(|task| !task.is_empty());
        let prompt = said.prompt.as_deref().or(said.description.as_deref());
        let mut raw = Some(raw.clone());
        self.delegate(&said.tool_use_id, task, prompt, &mut raw, cx, out);
    }

    /// A call gives work to a sub-agent: to a new one, or to one that worked before.
    fn delegate(
        &mut self,
        call: &str,
        task: Option<&str>,
        prompt: Option<&str>,
        raw: &mut Option<Raw>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        self.begin_lined(call, cx, out);
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
                // Its frames came before its announcement.
                self.name_child(at, call, task);
                return;
            }
            Some(at) => at,
            None if self.conversations.len() > CHILD_LIMIT => return,
            None => {
                self.conversations.push(ClaudeConversation::new(SessionId::mint(cx)));
                self.conversations.len() - 1
            }
        };
        let child = self.conversations[at].session;
        let began = TurnId::mint(cx);
        // The delegation comes first, so that whoever follows it knows the child before the child speaks.
        let agent = self.home.as_ref().map_or_else(name, |home| AgentName::clone(&home.agent));
        let delegation = Delegation { child, agent };
        let mut draft = Draft::new(Body::DelegationStarted(delegation)).turn(turn).item(item);
        draft.text.clone_from(&prompt);
        out.say(session, draft.raw(raw.take()));
        if known.is_none() {
            self.open_child(at, session, task.unwrap_or(call), out);
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
        out.say(child, Draft::new(Body::TurnStarted { prompt: None }).turn(began));
        self.name_child(at, call, task.as_deref());
        if let Some(prompt) = prompt {
            self.child_was_told(at, &prompt, &mut None, cx, out);
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

    fn open_child(&mut self, at: usize, parent: SessionId, native: &str, out: &mut Output) {
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
        out.say(conversation.session, Draft::new(Body::SessionOpened(Box::new(opened))));
        let ready = Ready {
            native: Some(native.to_owned()),
            version: home.version.clone(),
            model: home.model.clone(),
            transcript: None,
        };
        out.say(conversation.session, Draft::new(Body::SessionReady(ready)));
    }

    /// What a sub-agent was asked. It is told once, when it is announced or when it comes.
    pub(super) fn child_was_told(
        &mut self,
        at: usize,
        text: &str,
        raw: &mut Option<Raw>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let Some(conversation) = self.conversations.get_mut(at) else { return };
        let Some(parent) = conversation.parent.as_mut().filter(|parent| !parent.prompted) else { return };
        parent.prompted = true;
        let said = Body::UserMessage { prompt: None, attachments: Vec::new(), by: None };
        let draft = Draft::new(said).turn(conversation.turn).item(ItemId::mint(cx)).text(text);
        out.say(conversation.session, draft.raw(raw.take()));
    }

    /// `task_notification`: the work of a sub-agent came to an end.
    pub(super) fn task_ended(&mut self, said: &System, raw: &Raw, out: &mut Output) {
        let at = self.children.get(&said.task_id).or_else(|| self.children.get(&said.tool_use_id)).copied();
        let outcome = match said.status.as_deref() {
            Some("failed" | "error") => TurnOutcome::Failed,
            Some("stopped" | "killed") => TurnOutcome::Interrupted,
            Some(_) | None => TurnOutcome::Completed,
        };
        if let Some(at) = at {
            self.child_ended(at, outcome, Some(raw), out);
        }
    }

    /// The call that gave the work has its result. One that was announced says itself when it is done.
    pub(super) fn delegating_call_ended(
        &mut self,
        call: &str,
        status: ToolStatus,
        data: &Value,
        out: &mut Output,
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
        self.child_ended(at, outcome, None, out);
    }

    /// The turn did not end well: who worked for its sake alone no longer does.
    pub(super) fn stop_children(&mut self, turn: TurnId, outcome: TurnOutcome, out: &mut Output) {
        if outcome == TurnOutcome::Completed {
            return;
        }
        let stops = |by: &ClaudeParent| by.working && !by.background && by.turn == Some(turn);
        let of = |conversation: &ClaudeConversation| conversation.parent.as_ref().is_some_and(stops);
        let left: Vec<usize> =
            (0..self.conversations.len()).filter(|at| of(&self.conversations[*at])).collect();
        for at in left {
            self.child_ended(at, TurnOutcome::Interrupted, None, out);
        }
    }

    fn child_ended(&mut self, at: usize, outcome: TurnOutcome, raw: Option<&Raw>, out: &mut Output) {
        if !self.works(at) {
            return;
        }
        self.leave_behind(at, out);
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
            out.say(session, Draft::new(Body::TurnFinished(TurnEnd::of(outcome))).turn(turn));
        }
        out.say(by, finished.raw(raw.cloned()));
    }
}
