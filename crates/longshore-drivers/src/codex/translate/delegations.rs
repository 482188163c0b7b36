//! Threads that other threads spawn: each is a session of its own, and its parent's call is a delegation.
//!
//! A child's lines come on the same connection under the child's name and without any announcement. The call that
//! spawned it says the name only when it is completed, by which time the child may have said a lot; so the first
//! line of a stranger while a call is spawning makes it that call's child.

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{Context, ItemId, SessionId, TurnId};
use longshore_model::lifecycle::{Delegation, DelegationEnd, Opened, Ready, TurnOutcome};
use serde_json::value::RawValue;

use super::conversation::{CodexParent, Spawn, Thread};
use super::{Codex, WireError};
use crate::codex::{capabilities, name, wire};

impl Codex {
    /// Somebody speaks whom nobody introduced: the child of a call that is spawning one, if there is such a call.
    pub(super) fn adopt_stranger(
        &mut self,
        method: &str,
        params: &RawValue,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        if !(method.starts_with("turn/") || method.starts_with("item/")) {
            return;
        }
        let Ok(place) = serde_json::from_str::<wire::Place<'_>>(params.get()) else { return };
        if place.thread_id.is_empty() || self.threads.contains_key(place.thread_id.as_ref()) {
            return;
        }
        // The oldest call first; item ids are ordered by time.
        let spawning = self
            .threads
            .iter()
            .flat_map(|(parent, thread)| thread.spawning.iter().map(move |spawn| (spawn.item, parent)))
            .min_by_key(|(item, _)| *item);
        if let Some((item, parent)) = spawning {
            let parent = parent.clone();
            self.delegate(&parent, item, place.thread_id.as_ref(), cx, out);
        }
    }

    /// `thread/started`, which announces threads of ours after the fact, and children at times.
    pub(super) fn thread_started(
        &mut self,
        params: &RawValue,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let wire::ThreadStarted { thread } = serde_json::from_str(params.get())?;
        if let Some(known) = self.threads.get(&thread.id) {
            let body = Body::Raw { kind: "thread/started".to_owned(), fault: None };
            out.say(known.session, Draft::new(body).raw(raw.clone()));
            return Ok(());
        }
        let parent = thread.parent_thread_id.filter(|parent| self.threads.contains_key(parent));
        if let Some(parent) = parent {
            let spawn = self.threads.get(&parent).and_then(|parent| parent.spawning.first()).map(|s| s.item);
            match spawn {
                Some(item) => self.delegate(&parent, item, &thread.id, cx, out),
                None => {
                    self.adopt(&parent, &thread.id, thread.model, cx, out);
                }
            }
        }
        Ok(())
    }

    /// A call by which one agent deals with others.
    pub(super) fn collaboration_moved(
        &mut self,
        native: &str,
        turn: Option<TurnId>,
        item: ItemId,
        call: &wire::Item,
        cx: &mut Context<'_>,
        out: &mut Output,
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
                self.delegate(native, item, child, cx, out);
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
            self.delegated_turn_ended(child, outcome, state.message.clone().unwrap_or_default(), out);
        }
    }

    /// What newer models say instead: one item for each step in the life of a child.
    pub(super) fn sub_agent_moved(
        &mut self,
        native: &str,
        turn: Option<TurnId>,
        item: ItemId,
        step: &wire::Item,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let Some(child) = step.agent_thread_id.as_deref() else { return };
        match step.activity.as_deref() {
            Some("started") if !self.threads.contains_key(child) => {
                let task = step.agent_path.clone().unwrap_or_default();
                self.expect_child(native, &Spawn { turn, item, task, model: None });
                self.delegate(native, item, child, cx, out);
            }
            Some("interrupted") => {
                self.delegated_turn_ended(child, TurnOutcome::Interrupted, String::new(), out);
            }
            Some("completed") => {
                self.delegated_turn_ended(child, TurnOutcome::Completed, String::new(), out);
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

    /// A call of `parent` gives work to `child`.
    fn delegate(&mut self, parent: &str, item: ItemId, child: &str, cx: &mut Context<'_>, out: &mut Output) {
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
        // The delegation comes first, so that whoever follows it knows the child before the child speaks.
        let child_session = known.map_or_else(|| SessionId::mint(cx), |(session, _)| session);
        let delegation = Delegation { child: child_session, agent: name() };
        let draft = Draft::new(Body::DelegationStarted(delegation)).turn(spawn.turn).item(item);
        out.say(session, draft.text(spawn.task));
        if !self.threads.contains_key(child) {
            self.adopt_as(child_session, parent, child, spawn.model, out);
        }
        if let Some(thread) = self.threads.get_mut(child) {
            thread.parent = Some(CodexParent { session, turn: spawn.turn, item, working: true });
        }
    }

    /// A thread of `parent` that no call of it is known to have spawned.
    fn adopt(
        &mut self,
        parent: &str,
        child: &str,
        model: Option<String>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let session = SessionId::mint(cx);
        self.adopt_as(session, parent, child, model, out);
    }

    fn adopt_as(
        &mut self,
        session: SessionId,
        parent: &str,
        child: &str,
        model: Option<String>,
        out: &mut Output,
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
        out.say(session, Draft::new(Body::SessionOpened(Box::new(opened))));
        let ready =
            Ready { native: Some(child.to_owned()), version: self.version.clone(), model, transcript: None };
        out.say(session, Draft::new(Body::SessionReady(ready)));
        self.natives.insert(session, child.to_owned());
        self.threads.insert(child.to_owned(), thread);
    }

    /// The work of a child came to an end, and so did the delegation.
    pub(super) fn delegated_turn_ended(
        &mut self,
        child: &str,
        outcome: TurnOutcome,
        result: String,
        out: &mut Output,
    ) {
        let Some(thread) = self.threads.get_mut(child) else { return };
        let session = thread.session;
        let Some(parent) = thread.parent.as_mut().filter(|parent| parent.working) else { return };
        parent.working = false;
        let end = DelegationEnd { child: session, outcome };
        let mut draft = Draft::new(Body::DelegationFinished(end)).turn(parent.turn).item(parent.item);
        draft.text = Some(result).filter(|result| !result.is_empty());
        out.say(parent.session, draft);
    }
}

/// How the work of a child ended, if it did.
pub(crate) fn end_of(status: &str) -> Option<TurnOutcome> {
    match status {
        "completed" | "shutdown" => Some(TurnOutcome::Completed),
        "interrupted" => Some(TurnOutcome::Interrupted),
        "errored" | "notFound" => Some(TurnOutcome::Failed),
        _ => None,
    }
}
