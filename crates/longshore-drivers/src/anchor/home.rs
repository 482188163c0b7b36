//! The first process of an agent sets up its home, alone; the next ones start when it has spoken.
//!
//! Programs that find the same empty home at once get into each other's way: of three Codexes two end with "failed to
//! initialize sqlite state runtime". Agents that share an account share a home.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::spec::AgentSpec;

/// How long others wait for the first one. Then it is taken to set up nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// The homes of all agents.
#[derive(Debug, Default)]
pub(crate) struct Homes(Mutex<HashMap<String, Arc<Home>>>);

impl Homes {
    pub(crate) fn of(&self, agent: &dyn AgentSpec) -> Arc<Home> {
        let folder = agent.account().map(|account| account.home.1);
        let key = folder.unwrap_or_else(|| agent.name()).to_owned();
        Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// None of its processes has spoken yet.
    #[default]
    Unknown,
    /// One was started, and has not spoken yet.
    Entered,
    /// One has spoken.
    Ready,
}

/// Where the programs of an agent keep what they remember.
#[derive(Debug, Default)]
pub(crate) struct Home(watch::Sender<State>);

impl Home {
    /// Waits while a first process sets it up. Who gets something back is the first.
    pub(crate) async fn enter(self: &Arc<Self>) -> Option<First> {
        let first = timeout(PATIENCE, async {
            let mut state = self.0.subscribe();
            loop {
                // Never an error: we hold the sender.
                let _ = state.wait_for(|state| *state != State::Entered).await;
                if self.turn(State::Unknown, State::Entered) {
                    return Some(First(Arc::clone(self)));
                }
                if *state.borrow() == State::Ready {
                    return None;
                }
            }
        });
        first.await.unwrap_or_else(|_| {
            self.is_ready();
            None
        })
    }

    /// One of its programs has spoken.
    pub(crate) fn is_ready(&self) {
        self.0.send_replace(State::Ready);
    }

    fn turn(&self, from: State, to: State) -> bool {
        self.0.send_if_modified(|state| {
            let turns = *state == from;
            if turns {
                *state = to;
            }
            turns
        })
    }
}

/// Held for the first process. When that is gone and has not spoken, another one is the first.
#[derive(Debug)]
pub(crate) struct First(Arc<Home>);

impl Drop for First {
    fn drop(&mut self) {
        self.0.turn(State::Entered, State::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{acp, codex};

    #[tokio::test(start_paused = true)]
    async fn the_second_waits_until_the_first_has_spoken() {
        let home = Arc::new(Home::default());
        let first = home.enter().await;
        assert!(first.is_some());
        let mut second = tokio::spawn({
            let home = Arc::clone(&home);
            async move { home.enter().await.is_some() }
        });
        assert!(timeout(PATIENCE / 2, &mut second).await.is_err(), "it did not wait");
        home.is_ready();
        assert!(!second.await.unwrap());
        drop(first);
        assert!(home.enter().await.is_none(), "what is set up stays so");
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_first_one_that_failed_there_is_another_first() {
        let home = Arc::new(Home::default());
        let first = home.enter().await;
        let next = tokio::spawn({
            let home = Arc::clone(&home);
            async move { home.enter().await }
        });
        tokio::task::yield_now().await;
        drop(first);
        assert!(next.await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        let home = Arc::new(Home::default());
        let silent = home.enter().await;
        assert!(home.enter().await.is_none());
        let at = tokio::time::Instant::now();
        assert!(home.enter().await.is_none());
        assert_eq!(at.elapsed(), Duration::ZERO, "the patience is had once");
        drop(silent);
    }

    #[test]
    fn agents_that_share_an_account_share_a_home() {
        let homes = Homes::default();
        let row = acp::rows().iter().find(|row| row.name == "codex-acp").unwrap();
        let same = homes.of(&codex::CodexSpec);
        assert!(Arc::ptr_eq(&same, &homes.of(&codex::exec::ExecSpec)));
        assert!(Arc::ptr_eq(&same, &homes.of(&*acp::AcpSpec::known(row))));
        assert!(!Arc::ptr_eq(&same, &homes.of(&crate::opencode::OpenCodeSpec)));
    }
}
