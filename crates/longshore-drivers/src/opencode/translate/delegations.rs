//! Conversations that other conversations begin: sub-agents, which are sessions of their own.

use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, SessionId};
use longshore_model::lifecycle::{Delegation, DelegationEnd, Opened, Ready, TurnOutcome};

use super::OpenCode;
use super::conversation::{OpenCodeConversation, OpenCodeParent, PartKind};
use crate::kit::Scribe;
use crate::opencode::wire::SessionTold;
use crate::opencode::{NAME, capabilities, name};

impl OpenCode {
    /// `session.created`: the driver already knows our own sessions, and learns here of children.
    pub(super) fn session_made(&mut self, told: &SessionTold, scribe: &mut Scribe<'_>) {
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
        // The call of the child names it a moment later. If only one call is possible, the driver uses it
        // now, so that the delegation comes before the child's first event.
        let calls = self.calls_without_child(&parent);
        let session = SessionId::mint(&mut scribe.cx);
        if let [only] = calls.as_slice() {
            self.delegate(&parent, only, &info.id, session, info.title.as_deref(), scribe);
        }
        self.adopt(&parent, &info.id, session, info.title.clone(), info.version.clone(), scribe);
    }

    /// A call names the conversation to which it delegated work.
    pub(super) fn delegated(&mut self, parent: &str, part: &str, child: &str, scribe: &mut Scribe<'_>) {
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
            return self.delegate(parent, part, child, session, None, scribe);
        }
        let there = self.conversations.get(child).map(|conversation| conversation.session);
        let session = there.unwrap_or_else(|| SessionId::mint(&mut scribe.cx));
        self.delegate(parent, part, child, session, None, scribe);
        if there.is_none() {
            self.adopt(parent, child, session, None, None, &mut scribe.bare());
        }
    }

    /// The running calls that may have an unknown child.
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
        scribe: &mut Scribe<'_>,
    ) {
        let Some(conversation) = self.conversations.get_mut(parent) else { return };
        let of = conversation.session;
        let Some(known) = conversation.parts.get_mut(part) else { return };
        let PartKind::Tool(tool) = &mut known.what else { return };
        tool.child = Some(child.to_owned());
        let task = tool.call.input["prompt"].as_str().or_else(|| tool.call.input["description"].as_str());
        // The call's arguments may be unknown yet, while the conversation already has a title.
        let task = task.or(title).unwrap_or_default().to_owned();
        let (turn, item) = (known.turn, known.item);
        let delegation = Delegation { child: session, agent: name() };
        let mut draft = Draft::new(Body::DelegationStarted(delegation)).turn(turn).item(item);
        draft.text = Some(task).filter(|task| !task.is_empty());
        scribe.say(of, draft);
        let by = OpenCodeParent { native: parent.to_owned(), turn, item: Some(item), working: true };
        if let Some(conversation) = self.conversations.get_mut(child) {
            conversation.parent = Some(by);
        }
    }

    fn adopt(
        &mut self,
        parent: &str,
        child: &str,
        session: SessionId,
        title: Option<String>,
        version: Option<String>,
        scribe: &mut Scribe<'_>,
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
        scribe.say(session, Draft::new(Body::SessionOpened(Box::new(opened))));
        let ready = Ready { native: Some(child.to_owned()), version, model, transcript: None };
        scribe.quote(session, Draft::new(Body::SessionReady(ready)));
        self.natives.insert(session, child.to_owned());
        self.conversations.insert(child.to_owned(), conversation);
        // OpenCode gives the child its own rules, which differ from the rules of its parent's mode.
        self.set_rules(child, mode, scribe);
    }

    /// A child has finished its work, and so the delegation ends.
    pub(super) fn delegated_turn_ended(
        &mut self,
        child: &str,
        outcome: TurnOutcome,
        result: String,
        scribe: &mut Scribe<'_>,
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
        scribe.say(of, draft);
    }
}
