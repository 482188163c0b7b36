//! Threads that other threads spawn: each is a session of its own, and its parent's call is a delegation.
//!
//! A child's lines come on the same connection under the child's id, without an announcement. The call that
//! spawned the child names it only when the call is complete. By then the child may have said a lot. So if a
//! call is spawning a thread, the first line of an unknown thread makes this thread the child of the call.

use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, SessionId, TurnId};
use longshore_model::lifecycle::{Delegation, DelegationEnd, Opened, Ready, TurnOutcome};
use serde_json::value::RawValue;

use super::conversation::{CodexParent, Spawn, Thread};
use super::{Codex, WireError};
use crate::codex::{capabilities, name, wire};
use crate::kit::Scribe;

impl Codex {
    /// Handles a line of an unknown thread: it is the child of a call that is spawning a thread, if there is
    /// such a call.
    pub(super) fn adopt_stranger(&mut self, method: &str, params: &RawValue, scribe: &mut Scribe<'_>) {
        if !(method.starts_with("turn/") || method.starts_with("item/")) {
            return;
        }
        let Ok(place) = serde_json::from_str::<wire::Place<'_>>(params.get()) else { return };
        if place.thread_id.is_empty() || self.threads.contains_key(place.thread_id.as_ref()) {
            return;
        }
        // The oldest call first: item ids are ordered by time.
        let spawning = self
            .threads
            .iter()
            .flat_map(|(parent, thread)| thread.spawning.iter().map(move |spawn| (spawn.item, parent)))
            .min_by_key(|(item, _)| *item);
        if let Some((item, parent)) = spawning {
            let parent = parent.clone();
            self.delegate(&parent, item, place.thread_id.as_ref(), scribe);
        }
    }

    /// `thread/started`, which announces our threads after they exist, and sometimes children.
    pub(super) fn thread_started(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let wire::ThreadStarted { thread } = serde_json::from_str(params.get())?;
        if let Some(known) = self.threads.get(&thread.id) {
            let body = Body::Raw { kind: "thread/started".to_owned(), fault: None };
            scribe.quote(known.session, Draft::new(body));
            return Ok(());
        }
        let parent = thread.parent_thread_id.filter(|parent| self.threads.contains_key(parent));
        if let Some(parent) = parent {
            let spawn = self.threads.get(&parent).and_then(|parent| parent.spawning.first()).map(|s| s.item);
            match spawn {
                Some(item) => self.delegate(&parent, item, &thread.id, scribe),
                None => {
                    self.adopt(&parent, &thread.id, thread.model, scribe);
                }
            }
        }
        Ok(())
    }

    /// A call with which one agent deals with other agents.
    pub(super) fn collaboration_moved(
        &mut self,
        native: &str,
        turn: Option<TurnId>,
        item: ItemId,
        call: &wire::Item,
        scribe: &mut Scribe<'_>,
    ) {
        let gives_work = matches!(
            call.tool.as_str(),
            "spawnAgent" | "sendInput" | "resumeAgent" | "followupTask" | "sendMessage"
        );
        let over = !matches!(call.status.as_str(), "inProgress" | "");
        let task = call.prompt.clone().unwrap_or_default();
        let spawn = Spawn { turn, item, task, model: call.model.clone() };
        if gives_work {
            for child in &call.receiver_thread_ids {
                self.expect_child(native, &spawn);
                self.delegate(native, item, child, scribe);
            }
        }
        if let Some(thread) = self.threads.get_mut(native) {
            thread.spawning.retain(|spawn| spawn.item != item);
        }
        if call.tool == "spawnAgent" && !over && call.receiver_thread_ids.is_empty() {
            self.expect_child(native, &spawn);
        }
        for (child, state) in &call.agents_states {
            let Some(outcome) = end_of(&state.status) else { continue };
            self.delegated_turn_ended(child, outcome, state.message.clone().unwrap_or_default(), scribe);
        }
    }

    /// The form of newer models: one item for each step in the life of a child.
    pub(super) fn sub_agent_moved(
        &mut self,
        native: &str,
        turn: Option<TurnId>,
        item: ItemId,
        step: &wire::Item,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(child) = step.agent_thread_id.as_deref() else { return };
        match step.activity.as_deref() {
            Some("started") if !self.threads.contains_key(child) => {
                let task = step.agent_path.clone().unwrap_or_default();
                self.expect_child(native, &Spawn { turn, item, task, model: None });
                self.delegate(native, item, child, scribe);
            }
            Some("interrupted") => {
                self.delegated_turn_ended(child, TurnOutcome::Interrupted, String::new(), scribe);
            }
            Some("completed") => {
                self.delegated_turn_ended(child, TurnOutcome::Completed, String::new(), scribe);
            }
            Some(_) | None => {}
        }
    }

    /// A call of `parent` will have a child.
    fn expect_child(&mut self, parent: &str, spawn: &Spawn) {
        if let Some(thread) = self.threads.get_mut(parent) {
            thread.spawning.push(spawn.clone());
        }
    }

    /// A call of `parent` delegates work to `child`.
    fn delegate(&mut self, parent: &str, item: ItemId, child: &str, scribe: &mut Scribe<'_>) {
        let Some(thread) = self.threads.get_mut(parent) else { return };
        let (session, spawn) = match thread.spawning.iter().position(|spawn| spawn.item == item) {
            Some(at) => (thread.session, thread.spawning.remove(at)),
            None => return,
        };
        let known = self.threads.get(child).map(|child| (child.session, child.parent.clone()));
        if let Some((_, Some(by))) = &known
            && (by.item == item || by.working)
        {
            return;
        }
        // The delegation comes first, so that clients know the child before its first event.
        let child_session = known.map_or_else(|| SessionId::mint(&mut scribe.cx), |(session, _)| session);
        let delegation = Delegation { child: child_session, agent: name() };
        let draft = Draft::new(Body::DelegationStarted(delegation)).turn(spawn.turn).item(item);
        scribe.say(session, draft.text(spawn.task));
        if !self.threads.contains_key(child) {
            self.adopt_as(child_session, parent, child, spawn.model, scribe);
        }
        if let Some(thread) = self.threads.get_mut(child) {
            thread.parent = Some(CodexParent { session, turn: spawn.turn, item, working: true });
        }
    }

    /// A thread of `parent` that no known call has spawned.
    fn adopt(&mut self, parent: &str, child: &str, model: Option<String>, scribe: &mut Scribe<'_>) {
        let session = SessionId::mint(&mut scribe.cx);
        self.adopt_as(session, parent, child, model, scribe);
    }

    fn adopt_as(
        &mut self,
        session: SessionId,
        parent: &str,
        child: &str,
        model: Option<String>,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(of) = self.threads.get(parent) else { return };
        let model = model.or_else(|| of.model.clone());
        let opened = Opened {
            agent: name(),
            cwd: of.cwd.clone(),
            mode: of.mode,
            model: model.clone(),
            effort: None,
            title: None,
            mcp_servers: Vec::new(),
            capabilities: capabilities(),
            parent: Some(of.session),
            forked_from: None,
            from_file: false,
        };
        let mut thread = Thread::new(session, of.cwd.clone(), of.mode, model.clone());
        thread.recorded = true;
        scribe.say(session, Draft::new(Body::SessionOpened(Box::new(opened))));
        let ready =
            Ready { native: Some(child.to_owned()), version: self.version.clone(), model, transcript: None };
        scribe.say(session, Draft::new(Body::SessionReady(ready)));
        self.natives.insert(session, child.to_owned());
        self.threads.insert(child.to_owned(), thread);
    }

    /// A child has finished its work, and so the delegation ends.
    pub(super) fn delegated_turn_ended(
        &mut self,
        child: &str,
        outcome: TurnOutcome,
        result: String,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(thread) = self.threads.get_mut(child) else { return };
        let session = thread.session;
        let Some(parent) = thread.parent.as_mut().filter(|parent| parent.working) else { return };
        parent.working = false;
        let end = DelegationEnd { child: session, outcome };
        let mut draft = Draft::new(Body::DelegationFinished(end)).turn(parent.turn).item(parent.item);
        draft.text = Some(result).filter(|result| !result.is_empty());
        scribe.say(parent.session, draft);
    }
}

/// How a child's work ended, if it has.
pub(crate) fn end_of(status: &str) -> Option<TurnOutcome> {
    match status {
        "completed" | "shutdown" => Some(TurnOutcome::Completed),
        "interrupted" => Some(TurnOutcome::Interrupted),
        "errored" | "notFound" => Some(TurnOutcome::Failed),
        _ => None,
    }
}
