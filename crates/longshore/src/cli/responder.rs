//! Answers the requests of an agent while a person watches, or while nobody does.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

/// What somebody did at the keyboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A line: an answer, a command, or a prompt.
    Line(String),
    /// Words for the turn that runs.
    Steer(String),
    /// A line that was begun before anything was asked: a prompt, whatever is asked now.
    Prompt(String),
    /// The key that stops the turn.
    Stop,
    /// The key that stops the turn, and the second time leaves.
    Break,
    /// The key for the next mode.
    NextMode,
}

/// Who answers.
pub(super) enum Responder {
    /// A person types here, or a program writes.
    Person(mpsc::Receiver<Typed>),
    /// Somebody elsewhere; how is said.
    Elsewhere,
    /// The program itself, a while after it was asked: yes, and the first choice.
    Itself { pause: Duration, next: Option<(Instant, &'static str)> },
}

impl Responder {
    /// The program itself.
    pub(super) fn itself(pause: Duration) -> Self {
        Responder::Itself { pause, next: None }
    }

    /// Something is asked here now; `words` are what the program itself would say.
    pub(super) fn asked(&mut self, words: &'static str) {
        if let Responder::Itself { pause, next } = self {
            *next = Some((Instant::now() + *pause, words));
        }
    }

    /// Nothing is asked any more.
    pub(super) fn settled(&mut self) {
        if let Responder::Itself { next, .. } = self {
            *next = None;
        }
    }

    /// What is typed next, or none when there will be no more. Cancelling it loses nothing.
    pub(super) async fn typed(&mut self) -> Option<Typed> {
        match self {
            Responder::Person(lines) => lines.recv().await,
            Responder::Itself { next, .. } => {
                let Some((at, words)) = *next else { return std::future::pending().await };
                tokio::time::sleep_until(at).await;
                *next = None;
                Some(Typed::Line(words.to_owned()))
            }
            Responder::Elsewhere => std::future::pending().await,
        }
    }
}
