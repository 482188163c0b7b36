//! What happens to a turn that a restart of the hub interrupted, and how a conversation goes back to the agent's terminal.
//!
//! The log records a prompt before the agent gets it. If the hub is killed in between, the log has a turn that the agent
//! never received. The agent may also have received the prompt and had no time to react. So the next hub does not send
//! the prompt again by itself:
//!
//! 1. The next hub ends the turn as interrupted, with the error `hub_restarted`. The inbox lists the session, which is
//!    [`cut_by_restart`](crate::info::SessionInfo::cut_by_restart). The waiting prompts are held.
//! 2. A client sends the same prompt again with the same `key`. If the agent had not reacted to the first prompt, the
//!    session queues a new prompt in a new turn. If the agent had reacted, the key still names the first prompt.
//! 3. A person resumes the session, and the agent continues. If the agent had not reacted, it gets the same text again,
//!    and the text keeps its `key`.

use super::{AgentState, Input, Outcome, PromptReceipt, Session, UnheardPrompt};
use crate::command::{AgentCommand, Prompt, Refusal, Reply, When};
use crate::event::{Author, Body, Category, Draft, Event};
use crate::id::{Context, TurnId};
use crate::lifecycle::{Sleep, SleepCause, TurnOutcome};

/// What the hub tells an agent that must continue.
pub const GO_ON: &str = "Go on where you were interrupted.";

impl Session {
    /// What a session must handle if its log has something under way but no agent runs.
    pub fn left_open(&self) -> Option<Input> {
        // A turn that runs elsewhere was not cut short here.
        let left = self.has_agent() || (self.is_working() && !self.is_elsewhere());
        let (cause, reason) = match self.is_only_read() {
            // No agent of ours was at it, so that there is nothing to go on with.
            true => (SleepCause::Stopped, "the file ends here"),
            false => (SleepCause::HubRestarted, "the hub was restarted"),
        };
        let sleep = Sleep { cause, ..Sleep::default() };
        left.then(|| Input::Gone { sleep, reason: reason.to_owned() })
    }

    /// Lets the agent continue where it was interrupted.
    pub(super) fn resume(
        &mut self,
        by: Author,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Result<Reply, Refusal> {
        let interrupted = self.last_outcome == Some(TurnOutcome::Interrupted) && self.turn.is_none();
        if !interrupted || self.next().is_some() {
            // Whoever resumes may wait for what the agent's own terminal added, and somebody else was first.
            let PromptReceipt { prompt, turn, seq, .. } = self.resumed.ok_or(Refusal::NotInterrupted)?;
            return Ok(Reply::Prompted { prompt, turn, seq });
        }
        let was_cut = self.cut;
        let prompt = self.going_on();
        let reply = self.prompt(prompt, by, cx, out)?;
        if was_cut {
            // They were held because of the restart, and that is dealt with now.
            self.send_held(true, cx, out);
        }
        Ok(reply)
    }

    /// The prompt that continues a turn: the text to which the agent had not reacted, or [`GO_ON`].
    fn going_on(&self) -> Prompt {
        let mut prompt = Prompt { text: GO_ON.to_owned(), when: When::Interrupt, ..Prompt::default() };
        // An agent whose memory is our log finds them there.
        if self.cut && !self.opened.capabilities.memory_in_log && !self.unheard.is_empty() {
            let again = self.unheard.iter().map(|unheard| unheard.text.as_str());
            let texts: Vec<&str> = self.reacted.then_some(GO_ON).into_iter().chain(again).collect();
            prompt.text = texts.join("\n\n");
            prompt.attachments = self.unheard.iter().flat_map(|said| said.attachments.clone()).collect();
            if let ([only], false) = (self.unheard.as_slice(), self.reacted) {
                let key = self.keys.iter().find(|(_, receipt)| receipt.prompt == only.prompt);
                prompt.key = key.map(|(key, _)| key.clone());
            }
        }
        prompt
    }

    /// The prompt of the running turn, for an agent that has not received it.
    pub(super) fn unheard_prompt(&self, turn: TurnId) -> Option<AgentCommand> {
        let texts: Vec<&str> = self.unheard.iter().map(|unheard| unheard.text.as_str()).collect();
        Some(AgentCommand::Prompt {
            turn,
            prompt: self.unheard.first()?.prompt,
            text: texts.join("\n\n"),
            attachments: self.unheard.iter().flat_map(|said| said.attachments.clone()).collect(),
        })
    }

    /// Hands the conversation back.
    pub(super) fn release(
        &mut self,
        hand_back: Option<String>,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Result<(), Refusal> {
        if self.turn.is_some() || self.next().is_some() {
            return Err(Refusal::BusyTurn);
        }
        let ends = matches!(self.agent_state, AgentState::Starting { .. } | AgentState::Ready);
        let mut draft = Draft::new(Body::SessionHandedOff);
        draft.text = hand_back;
        self.record(draft, cx, out);
        if ends {
            out.effects.push(super::Effect::Stop);
        }
        Ok(())
    }

    /// Notes which prompts went to the agent, and whether it reacted.
    pub(super) fn note_heard(&mut self, event: &Event) {
        if let Body::UserMessage { prompt: Some(prompt), attachments, .. } = &event.body {
            let text = event.text().to_owned();
            self.unheard.push(UnheardPrompt { prompt: *prompt, text, attachments: attachments.clone() });
        } else if event.turn.is_some() && event.turn == self.turn.map(|turn| turn.id) {
            let reacts = match event.body.category() {
                Category::AgentMessage
                | Category::Reasoning
                | Category::Plan
                | Category::ToolCommand
                | Category::FileDiff
                | Category::ApprovalRequest
                | Category::UserInputRequest => true,
                Category::UserMessage | Category::LifecycleStatus | Category::Metadata => false,
            };
            if reacts {
                self.reacted = true;
                self.unheard.clear();
            }
        }
    }
}
