//! The queue: which prompt is next, and which prompts are held until a person releases them.
//!
//! Each prompt is held individually, so a prompt that a person sends after a Stop is sent at once, ahead of
//! the held prompts. The session holds all waiting prompts when a person stops the turn, when the account
//! reaches its usage limit, and when a restart of the hub interrupts a turn. Such prompts wait until a person
//! has looked at the interrupted turn.

use super::{AgentState, Effect, Outcome, Session, WaitingPrompt};
use crate::command::AgentCommand;
use crate::event::{Body, Draft};
use crate::id::{Context, ItemId, PromptId};
use crate::info::QueuedPrompt;

impl Session {
    /// The next prompt.
    pub(super) fn next(&self) -> Option<&QueuedPrompt> {
        self.queue.iter().map(|waiting| &waiting.queued).find(|queued| !queued.held)
    }

    pub(super) fn has_held(&self) -> bool {
        self.queue.iter().any(|waiting| waiting.queued.held)
    }

    /// Begins the next turn if the agent is free. Starts the agent if it is asleep.
    pub(super) fn pump(&mut self, cx: &mut Context<'_>, out: &mut Outcome) {
        if self.closed || self.turn.is_some() {
            return;
        }
        let Some(next) = self.next() else { return };
        match self.agent_state {
            // The session tries again when the agent has started or ended.
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

    /// Holds all waiting prompts.
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

    /// Releases the first held prompt, or all.
    pub(super) fn send_held(&mut self, all: bool, cx: &mut Context<'_>, out: &mut Outcome) {
        let most = if all { usize::MAX } else { 1 };
        let held = self.queue.iter().map(|waiting| &waiting.queued).filter(|queued| queued.held);
        let prompts: Vec<PromptId> = held.map(|queued| queued.prompt).take(most).collect();
        if !prompts.is_empty() {
            self.record(Draft::new(Body::QueueSent { prompts }), cx, out);
        }
        self.pump(cx, out);
    }

    /// Cancels all waiting prompts.
    pub(super) fn discard_queue(&mut self, cx: &mut Context<'_>, out: &mut Outcome) {
        let waiting: Vec<PromptId> = self.queue.iter().map(|waiting| waiting.queued.prompt).collect();
        for prompt in waiting {
            self.record(Draft::new(Body::PromptCancelled { prompt }), cx, out);
        }
    }

    /// Puts a prompt into the queue, ahead of the held prompts, which wait for a person.
    pub(super) fn enqueue(&mut self, prompt: WaitingPrompt, first: bool) {
        let held = self.queue.iter().position(|waiting| waiting.queued.held);
        self.queue.insert(if first { 0 } else { held.unwrap_or(self.queue.len()) }, prompt);
    }

    /// Removes a prompt that is sent or cancelled.
    pub(super) fn unqueue(&mut self, prompt: PromptId) {
        self.queue.retain(|waiting| waiting.queued.prompt != prompt);
    }
}
