//! The first process of an agent sets up its home alone; further processes start after its first output.
//!
//! Programs that find the same empty home at once disturb each other: of three Codexes two end with "failed
//! to initialize sqlite state runtime". Agents that share an account share a home.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::spec::AgentSpec;

/// How long other processes wait for the first one. After that, the anchor assumes that the first process
/// sets up nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// The homes of all agents.
#[derive(Debug, Default)]
pub(crate) struct FirstStarts(Mutex<HashMap<String, Arc<FirstStart>>>);

impl FirstStarts {
    pub(crate) fn of(&self, agent: &dyn AgentSpec) -> Arc<FirstStart> {
        let folder = agent.account().map(|account| account.home.1);
        let key = folder.unwrap_or_else(|| agent.name()).to_owned();
        Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FirstStartState {
    /// No process of the agent has written anything yet.
    #[default]
    Unknown,
    /// The first process was started, and has not written anything yet.
    Entered,
    /// A process has written something.
    Ready,
}

/// The home of an agent: where its programs keep their state.
#[derive(Debug, Default)]
pub(crate) struct FirstStart(watch::Sender<FirstStartState>);

impl FirstStart {
    /// Waits while a first process sets up the home. The caller that gets a [`First`] starts the first
    /// process.
    pub(crate) async fn enter(self: &Arc<Self>) -> Option<First> {
        let first = timeout(PATIENCE, async {
            let mut state = self.0.subscribe();
            loop {
                // Never an error, because `self` holds the sender.
                let _ = state.wait_for(|state| *state != FirstStartState::Entered).await;
                if self.turn(FirstStartState::Unknown, FirstStartState::Entered) {
                    return Some(First(Arc::clone(self)));
                }
                if *state.borrow() == FirstStartState::Ready {
                    return None;
                }
            }
        });
        first.await.unwrap_or_else(|_| {
            self.is_ready();
            None
        })
    }

    /// A process of the agent has written something.
    pub(crate) fn is_ready(&self) {
        self.0.send_replace(FirstStartState::Ready);
    }

    fn turn(&self, from: FirstStartState, to: FirstStartState) -> bool {
        self.0.send_if_modified(|state| {
            let turns = *state == from;
            if turns {
                *state = to;
            }
            turns
        })
    }
}

/// Held for the first process. If it is dropped before that process has written anything, another process is
/// the first.
#[derive(Debug)]
pub(crate) struct First(Arc<FirstStart>);

impl Drop for First {
    fn drop(&mut self) {
        self.0.turn(FirstStartState::Entered, FirstStartState::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{acp, codex};

    #[tokio::test(start_paused = true)]
    async fn the_second_waits_until_the_first_has_spoken() {
        let first_start = Arc::new(FirstStart::default());
        let first = first_start.enter().await;
        assert!(first.is_some());
        let mut second = tokio::spawn({
            let first_start = Arc::clone(&first_start);
            async move { first_start.enter().await.is_some() }
        });
        assert!(timeout(PATIENCE / 2, &mut second).await.is_err(), "it did not wait");
        first_start.is_ready();
        assert!(!second.await.unwrap());
        drop(first);
        assert!(first_start.enter().await.is_none(), "what is set up stays so");
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_first_one_that_failed_there_is_another_first() {
        let first_start = Arc::new(FirstStart::default());
        let first = first_start.enter().await;
        let next = tokio::spawn({
            let first_start = Arc::clone(&first_start);
            async move { first_start.enter().await }
        });
        tokio::task::yield_now().await;
        drop(first);
        assert!(next.await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        let first_start = Arc::new(FirstStart::default());
        let silent = first_start.enter().await;
        assert!(first_start.enter().await.is_none());
        let at = tokio::time::Instant::now();
        assert!(first_start.enter().await.is_none());
        assert_eq!(at.elapsed(), Duration::ZERO, "the patience is had once");
        drop(silent);
    }

    #[test]
    fn agents_that_share_an_account_share_a_home() {
        let first_starts = FirstStarts::default();
        let row = acp::rows().iter().find(|row| row.name == "codex-acp").unwrap();
        let same = first_starts.of(&codex::CodexSpec);
        assert!(Arc::ptr_eq(&same, &first_starts.of(&codex::exec::ExecSpec)));
        assert!(Arc::ptr_eq(&same, &first_starts.of(&*acp::AcpSpec::known(row))));
        assert!(!Arc::ptr_eq(&same, &first_starts.of(&crate::opencode::OpenCodeSpec)));
    }
}
