//! The queue: which prompt is next, and which ones are held until a person sends them on.
//!
//! A prompt is held by itself, so that one said after a Stop goes at once, ahead of those that the Stop holds. Held are all
//! that wait when a person stops the turn, when the account's usage limit is reached, and when a restart of the hub cuts a
//! turn: what was meant to follow on that turn is not said before somebody has looked.

use super::{AgentState, Effect, Outcome, Session};
use crate::command::AgentCommand;
use crate::event::{Body, Draft};
use crate::id::{Context, ItemId, PromptId};
use crate::info::QueuedPrompt;

impl Session {
    /// The prompt that is said next.
    pub(super) fn next(&self) -> Option<&QueuedPrompt> {
        self.queue.iter().find(|waiting| !waiting.held)
    }

    pub(super) fn has_held(&self) -> bool {
        self.queue.iter().any(|waiting| waiting.held)
    }

    /// Begins the next turn if the agent is free; wakes it if it sleeps.
    pub(super) fn pump(&mut self, cx: &mut Context<'_>, out: &mut Outcome) {
        if self.closed || self.turn.is_some() {
            return;
        }
        let Some(next) = self.next() else { return };
        match self.agent_state {
            // Once the agent is here, or gone, there is another go.
            AgentState::Starting { .. } | AgentState::Ending(_) => {}
            AgentState::Asleep => self.launch(out),
            AgentState::Ready => {
                let QueuedPrompt { prompt, turn, text, attachments, by, held: _, cut: _ } = next.clone();
                self.record(Draft::new(Body::TurnStarted { prompt: Some(prompt) }).turn(turn), cx, out);
                let said = Body::UserMessage {
                    prompt: Some(prompt),
                    attachments: attachments.clone(),
                    by: Some(by),
                };
                let item = ItemId::mint(cx);
                self.record(Draft::new(said).turn(turn).item(item).text(text.clone()), cx, out);
                out.effects.push(Effect::Tell(AgentCommand::Prompt { turn, prompt, text, attachments }));
            }
        }
    }

    /// Holds all that waits.
    pub(super) fn hold(&mut self, why: &str, cx: &mut Context<'_>, out: &mut Outcome) {
        if self.next().is_none() {
            return;
        }
        let held = match self.queue.len() {
            1 => "1 prompt is held".to_owned(),
            many => format!("{many} prompts are held"),
        };
        self.record(Draft::new(Body::QueueHeld).text(format!("{why}: {held}")), cx, out);
    }

    /// Sends on what is held: the first one, or all.
    pub(super) fn send_held(&mut self, all: bool, cx: &mut Context<'_>, out: &mut Outcome) {
        let most = if all { usize::MAX } else { 1 };
        let held = self.queue.iter().filter(|waiting| waiting.held);
        let prompts: Vec<PromptId> = held.map(|waiting| waiting.prompt).take(most).collect();
        if !prompts.is_empty() {
            self.record(Draft::new(Body::QueueSent { prompts }), cx, out);
        }
        self.pump(cx, out);
    }

    /// Takes back all that waits.
    pub(super) fn discard_queue(&mut self, cx: &mut Context<'_>, out: &mut Outcome) {
        let waiting: Vec<PromptId> = self.queue.iter().map(|waiting| waiting.prompt).collect();
        for prompt in waiting {
            self.record(Draft::new(Body::PromptCancelled { prompt }), cx, out);
        }
    }

    /// A prompt takes its place: before those that are held, which wait for a person.
    pub(super) fn enqueue(&mut self, queued: QueuedPrompt, first: bool) {
        let behind = self.queue.iter().position(|waiting| waiting.held).unwrap_or(self.queue.len());
        self.queue.insert(if first { 0 } else { behind }, queued);
    }
}
