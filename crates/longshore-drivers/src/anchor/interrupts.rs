//! Interrupts that an agent has received but not followed yet.
//!
//! An agent has [`Limits::interrupt`] to end an interrupted turn. After that, the anchor ends its process,
//! and the session sleeps until the next prompt. If the process also works for other sessions that are not
//! children of this one, the anchor waits until those sessions rest, at most [`Limits::interrupt_shared`].

use std::collections::HashMap;
use std::time::Duration;

use longshore_model::approval::Decision;
use longshore_model::command::AgentCommand;
use longshore_model::event::Body;
use longshore_model::id::{SessionId, TurnId};
use tokio::time::Instant;

use crate::transport::Limits;

/// An interrupt that the agent did not follow in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnheededInterrupt {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) within: Duration,
}

#[derive(Debug)]
pub(crate) struct Interrupts {
    /// The session for which the process was started. All other work in the process belongs to that session.
    root: Option<SessionId>,
    within: Duration,
    within_shared: Duration,
    /// The running turns.
    running: HashMap<SessionId, TurnId>,
    /// The interrupted turns, and when each was interrupted.
    told: HashMap<SessionId, (TurnId, Instant)>,
}

impl Interrupts {
    pub(crate) fn new(root: Option<SessionId>, limits: &Limits) -> Self {
        let (within, within_shared) = (limits.interrupt, limits.interrupt_shared);
        Self { root, within, within_shared, running: HashMap::new(), told: HashMap::new() }
    }

    /// Notes a command of a session to the agent.
    pub(crate) fn told(&mut self, session: SessionId, command: &AgentCommand) {
        let turn = match command {
            AgentCommand::Prompt { turn, .. } => {
                self.running.insert(session, *turn);
                return;
            }
            AgentCommand::Interrupt { turn } => Some(*turn),
            AgentCommand::Decide { decision, .. } if decision.decision == Decision::Cancel => {
                self.running.get(&session).copied()
            }
            AgentCommand::Decide { .. }
            | AgentCommand::Steer { .. }
            | AgentCommand::Answer { .. }
            | AgentCommand::SetMode(_)
            | AgentCommand::SetModel(_)
            | AgentCommand::SetEffort(_)
            | AgentCommand::Rename(_)
            | AgentCommand::Archive(_)
            | AgentCommand::Child { .. } => None,
        };
        if let Some(turn) = turn {
            let told = self.told.entry(session).or_insert((turn, Instant::now()));
            if told.0 != turn {
                *told = (turn, Instant::now());
            }
        }
    }

    /// Notes an event of the agent in a session.
    pub(crate) fn said(&mut self, session: SessionId, turn: Option<TurnId>, body: &Body) {
        match (body, turn) {
            (Body::TurnStarted { .. }, Some(turn)) => drop(self.running.insert(session, turn)),
            (Body::TurnFinished(_), Some(turn)) => {
                self.running.retain(|of, running| *of != session || *running != turn);
                self.told.retain(|of, (told, _)| *of != session || *told != turn);
            }
            (_, _) => {}
        }
    }

    /// Whether a turn of the session was interrupted and has not ended.
    pub(crate) fn is_told(&self, session: SessionId) -> bool {
        self.told.contains_key(&session)
    }

    /// Forgets a session that the process hosts no more.
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.running.remove(&session);
        self.told.remove(&session);
    }

    fn patience(&self, session: SessionId) -> Duration {
        let others = self.running.keys().any(|other| *other != session);
        if self.root != Some(session) && others { self.within_shared } else { self.within }
    }

    /// When the first interrupt becomes overdue.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.told.iter().map(|(session, (_, at))| *at + self.patience(*session)).min()
    }

    /// Removes and returns an overdue interrupt.
    pub(crate) fn overdue(&mut self) -> Option<UnheededInterrupt> {
        let now = Instant::now();
        let late =
            |(session, (_, at)): &(&SessionId, &(TurnId, Instant))| *at + self.patience(**session) <= now;
        let session = *self.told.iter().find(late)?.0;
        let within = self.patience(session);
        let (turn, _) = self.told.remove(&session)?;
        Some(UnheededInterrupt { session, turn, within })
    }
}

#[cfg(test)]
mod tests {
    use longshore_model::id::{Context, Ids};
    use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
    use longshore_model::time::Timestamp;

    use super::*;

    struct Names(Ids);

    impl Names {
        fn pair(&mut self) -> (SessionId, TurnId) {
            let mut cx = Context { now: Timestamp::default(), ids: &mut self.0 };
            (SessionId::mint(&mut cx), TurnId::mint(&mut cx))
        }
    }

    fn begin(interrupts: &mut Interrupts, (session, turn): (SessionId, TurnId)) {
        interrupts.said(session, Some(turn), &Body::TurnStarted { prompt: None });
    }

    fn finish(interrupts: &mut Interrupts, (session, turn): (SessionId, TurnId)) {
        let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Completed));
        interrupts.said(session, Some(turn), &end);
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_works_for_others_is_spared_until_they_rest() {
        let mut names = Names(Ids::seeded(1));
        let (one, other) = (names.pair(), names.pair());
        let limits = Limits::default();
        let mut interrupts = Interrupts::new(None, &limits);
        begin(&mut interrupts, one);
        begin(&mut interrupts, other);
        interrupts.told(one.0, &AgentCommand::Interrupt { turn: one.1 });
        tokio::time::advance(limits.interrupt).await;
        // A second interrupt does not restart the time.
        interrupts.told(one.0, &AgentCommand::Interrupt { turn: one.1 });
        assert_eq!(interrupts.overdue(), None);
        finish(&mut interrupts, other);
        let within = limits.interrupt;
        assert_eq!(interrupts.overdue(), Some(UnheededInterrupt { session: one.0, turn: one.1, within }));
        assert_eq!((interrupts.overdue(), interrupts.due()), (None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_spared_for_ever_and_a_root_not_for_its_children() {
        let mut names = Names(Ids::seeded(1));
        let (one, other) = (names.pair(), names.pair());
        let limits = Limits::default();
        let mut shared = Interrupts::new(None, &limits);
        let mut own = Interrupts::new(Some(one.0), &limits);
        for interrupts in [&mut shared, &mut own] {
            begin(interrupts, one);
            begin(interrupts, other);
            interrupts.told(one.0, &AgentCommand::Interrupt { turn: one.1 });
        }
        tokio::time::advance(limits.interrupt).await;
        assert!(own.overdue().is_some() && shared.overdue().is_none());
        tokio::time::advance(limits.interrupt_shared - limits.interrupt).await;
        assert!(shared.overdue().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_ends_was_heeded() {
        let mut names = Names(Ids::seeded(1));
        let one = names.pair();
        let mut interrupts = Interrupts::new(Some(one.0), &Limits::default());
        interrupts.told(one.0, &AgentCommand::Interrupt { turn: one.1 });
        assert!(interrupts.due().is_some());
        finish(&mut interrupts, one);
        assert_eq!(interrupts.due(), None);
    }
}
