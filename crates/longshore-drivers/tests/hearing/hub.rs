//! The sessions that hear a recording, as a hub would keep them, and what must hold of them.

use std::collections::HashMap;

use longshore_drivers::capture::{Capture, Direction, ReplayStep};
use longshore_model::capability::{Capabilities, Mode};
use longshore_model::command::AgentCommand;
use longshore_model::event::{AgentName, Body, Draft, Event};
use longshore_model::id::{Context, Ids, ItemId, Seq, SessionId};
use longshore_model::lifecycle::{Opened, Sleep};
use longshore_model::session::{Input, Outcome, Session};
use longshore_model::time::Timestamp;

/// The sessions of a replay, with what a hub records by itself when it tells an agent something.
pub(crate) struct Hub {
    agent: AgentName,
    capabilities: Capabilities,
    sessions: HashMap<SessionId, (Session, Vec<Event>)>,
    ids: Ids,
}

impl Hub {
    /// The sessions of an agent that did what the steps tell.
    pub(crate) fn hear(agent: AgentName, capabilities: Capabilities, steps: &[ReplayStep]) -> Self {
        let mut hub = Self { agent, capabilities, sessions: HashMap::new(), ids: Ids::seeded(3) };
        for step in steps {
            match step {
                ReplayStep::Told { session, command: AgentCommand::Prompt { turn, prompt, text, .. } } => {
                    let began = Body::TurnStarted { prompt: Some(*prompt) };
                    hub.input(*session, Input::Said(Draft::new(began).turn(*turn)));
                    let said = Body::UserMessage { prompt: Some(*prompt), attachments: Vec::new(), by: None };
                    let item = ItemId(hub.ids.next(Timestamp::default()));
                    hub.input(
                        *session,
                        Input::Said(Draft::new(said).turn(*turn).item(item).text(text.clone())),
                    );
                }
                ReplayStep::Told { session, command: AgentCommand::Decide { approval, decision } } => {
                    let (approval, decision) = (*approval, decision.clone());
                    hub.input(
                        *session,
                        Input::Said(Draft::new(Body::ApprovalDecided { approval, decision })),
                    );
                }
                ReplayStep::Told { session, command: AgentCommand::Answer { question, answer } } => {
                    let (question, answer) = (*question, answer.clone());
                    hub.input(*session, Input::Said(Draft::new(Body::QuestionAnswered { question, answer })));
                }
                ReplayStep::Said { session, draft } => hub.input(*session, Input::Said((**draft).clone())),
                ReplayStep::Told { .. } | ReplayStep::Wrote(_) | ReplayStep::Finished(_) => {}
            }
        }
        hub
    }

    fn input(&mut self, id: SessionId, input: Input) {
        let mut cx = Context { now: Timestamp::from_micros(1_794_768_000_000_000), ids: &mut self.ids };
        let mut out = Outcome::default();
        let (session, events) = self.sessions.entry(id).or_insert_with(|| {
            let opened = Opened {
                agent: self.agent.clone(),
                cwd: "/w".to_owned(),
                mode: Mode::Ask,
                model: None,
                effort: None,
                title: None,
                mcp_servers: Vec::new(),
                capabilities: self.capabilities.clone(),
                parent: None,
                forked_from: None,
                from_file: false,
            };
            (Session::open(id, opened, &mut cx, &mut out), Vec::new())
        });
        session.handle(input, &mut cx, &mut out).unwrap();
        events.extend(out.events.into_iter().map(|(event, _)| event));
    }

    /// Every session is the fold of its events, and when its agent is gone nothing of it is left open.
    pub(crate) fn check(mut self) {
        for id in self.sessions.keys().copied().collect::<Vec<_>>() {
            let gone = || Input::Gone { sleep: Sleep::default(), reason: "the recording ends".to_owned() };
            self.input(id, gone());
            // One that noticed too late that it has forgotten is started once more for the same prompt.
            if self.sessions[&id].0.info().turn.is_some() {
                self.input(id, gone());
            }
            let (session, events) = &self.sessions[&id];
            for (at, event) in events.iter().enumerate() {
                assert_eq!(event.seq, Seq(at as u64 + 1));
            }
            let info = session.info();
            assert!(info.turn.is_none() && info.approvals.is_empty() && info.questions.is_empty());
            assert_eq!(&Session::fold(events).unwrap(), session);
        }
    }
}

/// What the agent said, and what was kept of it. A server for many sessions may have lost them all, and then there is
/// none that could keep what it says.
pub(crate) fn nothing_dropped(capture: &Capture, steps: &[ReplayStep]) {
    let gave_up = |step: &ReplayStep| matches!(step, ReplayStep::Finished(_));
    if capture.driver == longshore_drivers::opencode::NAME && steps.iter().any(gave_up) {
        return;
    }
    let mut kept: HashMap<&str, i64> = HashMap::new();
    for step in steps {
        if let ReplayStep::Said { draft, .. } = step
            && let Some(raw) = &draft.raw
        {
            *kept.entry(raw).or_default() += 1;
        }
    }
    for entry in capture.entries.iter().filter(|entry| entry.dir == Direction::FromAgent) {
        let line = entry.line();
        let left = kept.get_mut(line.as_str()).unwrap_or_else(|| panic!("dropped: {line}"));
        *left -= 1;
        assert!(*left >= 0, "dropped: {line}");
    }
}
