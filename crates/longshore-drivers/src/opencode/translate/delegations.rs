//! Conversations that other conversations begin: sub-agents, which are sessions of their own.

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{Context, ItemId, SessionId};
use longshore_model::lifecycle::{Delegation, DelegationEnd, Opened, Ready, TurnOutcome};

use super::OpenCode;
use super::conversation::{OpenCodeConversation, OpenCodeParent, PartKind};
use crate::opencode::wire::SessionTold;
use crate::opencode::{NAME, capabilities, name};

impl OpenCode {
    /// `session.created`: of one of ours we know that already, of a child of ours we learn it here.
    pub(super) fn session_made(
        &mut self,
        told: &SessionTold,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let info = &told.info;
        let Some(parent) =
            info.parent_id.as_deref().filter(|parent| self.conversations.contains_key(*parent))
        else {
            return;
        };
        if self.conversations.contains_key(&info.id) {
            return;
        }
        let parent = parent.to_owned();
        // The call that it is for says so a moment later. When only one can be meant, it is known now, and the
        // delegation comes before the child speaks.
        let calls = self.calls_without_child(&parent);
        let session = SessionId::mint(cx);
        if let [only] = calls.as_slice() {
            self.delegate(&parent, only, &info.id, session, info.title.as_deref(), out);
        }
        self.adopt(&parent, &info.id, session, info.title.clone(), info.version.clone(), Some(raw), out);
    }

    /// A call says which conversation it gave work to.
    pub(super) fn delegated(
        &mut self,
        parent: &str,
        part: &str,
        child: &str,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let known = self.conversations.get(parent).and_then(|conversation| {
            match &conversation.parts.get(part)?.what {
                PartKind::Tool(tool) => tool.child.clone(),
                PartKind::Text { .. } | PartKind::Thought { .. } | PartKind::Said => None,
            }
        });
        if known.as_deref() == Some(child) {
            return;
        }
        if self.past {
            let session = SessionId::of_past(NAME, child);
            return self.delegate(parent, part, child, session, None, out);
        }
        let there = self.conversations.get(child).map(|conversation| conversation.session);
        let session = there.unwrap_or_else(|| SessionId::mint(cx));
        self.delegate(parent, part, child, session, None, out);
        if there.is_none() {
            self.adopt(parent, child, session, None, None, None, out);
        }
    }

    /// The calls that run and may have a child that is not known yet.
    fn calls_without_child(&self, parent: &str) -> Vec<String> {
        let Some(conversation) = self.conversations.get(parent) else { return Vec::new() };
        let waits = |what: &PartKind| match what {
            PartKind::Tool(tool) => tool.call.name == "task" && tool.child.is_none(),
            PartKind::Text { .. } | PartKind::Thought { .. } | PartKind::Said => false,
        };
        let open = conversation.parts.iter().filter(|(_, part)| !part.done && waits(&part.what));
        open.map(|(id, _)| id.clone()).collect()
    }

    fn delegate(
        &mut self,
        parent: &str,
        part: &str,
        child: &str,
        session: SessionId,
        title: Option<&str>,
        out: &mut Output,
    ) {
        let Some(conversation) = self.conversations.get_mut(parent) else { return };
        let of = conversation.session;
        let Some(known) = conversation.parts.get_mut(part) else { return };
        let PartKind::Tool(tool) = &mut known.what else { return };
        tool.child = Some(child.to_owned());
        let task = tool.call.input["prompt"].as_str().or_else(|| tool.call.input["description"].as_str());
        // Its arguments may not be known yet, while the conversation has a title.
        let task = task.or(title).unwrap_or_default().to_owned();
        let (turn, item) = (known.turn, known.item);
        let delegation = Delegation { child: session, agent: name() };
        let mut draft = Draft::new(Body::DelegationStarted(delegation)).turn(turn).item(item);
        draft.text = Some(task).filter(|task| !task.is_empty());
        out.say(of, draft);
        let by = OpenCodeParent { native: parent.to_owned(), turn, item: Some(item), working: true };
        if let Some(conversation) = self.conversations.get_mut(child) {
            conversation.parent = Some(by);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn adopt(
        &mut self,
        parent: &str,
        child: &str,
        session: SessionId,
        title: Option<String>,
        version: Option<String>,
        raw: Option<&Raw>,
        out: &mut Output,
    ) {
        let Some(of) = self.conversations.get(parent) else { return };
        let opened = Opened {
            agent: name(),
            cwd: of.directory.clone(),
            mode: of.mode,
            model: of.model.clone(),
            effort: None,
            title: title.clone(),
            mcp_servers: Vec::new(),
            capabilities: capabilities(),
            parent: Some(of.session),
            forked_from: None,
            from_file: false,
        };
        let mut conversation =
            OpenCodeConversation::new(session, of.directory.clone(), of.mode, of.model.clone());
        conversation.title = title;
        let called = of.parts.values().find_map(|part| match &part.what {
            PartKind::Tool(tool) if tool.child.as_deref() == Some(child) => Some((part.turn, part.item)),
            PartKind::Tool(_) | PartKind::Text { .. } | PartKind::Thought { .. } | PartKind::Said => None,
        });
        let (turn, item): (_, Option<ItemId>) = match called {
            Some((turn, item)) => (turn, Some(item)),
            None => (of.turn_id(), None),
        };
        conversation.parent =
            Some(OpenCodeParent { native: parent.to_owned(), turn, item, working: item.is_some() });
        let (mode, model) = (of.mode, conversation.model.clone());
        out.say(session, Draft::new(Body::SessionOpened(Box::new(opened))));
        let ready = Ready { native: Some(child.to_owned()), version, model, transcript: None };
        out.say(session, Draft::new(Body::SessionReady(ready)).raw(raw.cloned()));
        self.natives.insert(session, child.to_owned());
        self.conversations.insert(child.to_owned(), conversation);
        // OpenCode gives it rules of its own, which are not those of its parent's mode.
        self.set_rules(child, mode, out);
    }

    /// The work of a child came to an end, and so did the delegation.
    pub(super) fn delegated_turn_ended(
        &mut self,
        child: &str,
        outcome: TurnOutcome,
        result: String,
        out: &mut Output,
    ) {
        let Some(conversation) = self.conversations.get_mut(child) else { return };
        let session = conversation.session;
        let Some(parent) = conversation.parent.as_mut().filter(|parent| parent.working) else { return };
        parent.working = false;
        let parent = parent.clone();
        let Some(of) = self.conversations.get(&parent.native).map(|conversation| conversation.session) else {
            return;
        };
        let end = DelegationEnd { child: session, outcome };
        let mut draft = Draft::new(Body::DelegationFinished(end)).turn(parent.turn).item(parent.item);
        draft.text = Some(result).filter(|result| !result.is_empty());
        out.say(of, draft);
    }
}
