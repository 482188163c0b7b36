//! Who answers what an agent asks while somebody watches.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::terminal::{is_interactive, typed_lines};

/// Who answers.
pub(super) enum Hand {
    /// A person types here.
    Person(mpsc::Receiver<String>),
    /// Somebody elsewhere; how is said.
    Elsewhere,
    /// The program itself, a while after it was asked: yes, and the first choice.
    Itself { pause: Duration, next: Option<(Instant, &'static str)> },
}

impl Hand {
    /// The person who sits at both ends, if one does.
    pub(super) fn of_this_terminal() -> Self {
        if is_interactive() { Hand::Person(typed_lines()) } else { Hand::Elsewhere }
    }

    /// The program itself.
    pub(super) fn itself(pause: Duration) -> Self {
        Hand::Itself { pause, next: None }
    }

    /// Something is asked here now; `words` are what the program itself would say.
    pub(super) fn asked(&mut self, words: &'static str) {
        if let Hand::Itself { pause, next } = self {
            *next = Some((Instant::now() + *pause, words));
        }
    }

    /// Nothing is asked any more.
    pub(super) fn settled(&mut self) {
        if let Hand::Itself { next, .. } = self {
            *next = None;
        }
    }

    /// The next line, or none when there will be no more. Cancelling it loses nothing.
    pub(super) async fn line(&mut self) -> Option<String> {
        match self {
            Hand::Person(lines) => lines.recv().await,
            Hand::Itself { next, .. } => {
                let Some((at, words)) = *next else { return std::future::pending().await };
                tokio::time::sleep_until(at).await;
                *next = None;
                Some(words.to_owned())
            }
            Hand::Elsewhere => std::future::pending().await,
        }
    }
}
