//! The commands of a session to its agent, and requests whose deadline has passed.

use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft};
use longshore_model::id::SessionId;
use longshore_model::lifecycle::{FaultCode, TurnEnd, TurnErrorCode, TurnOutcome};

use super::calls::{ANSWER_WITHIN_MS, AcpCall, CANCEL_WITHIN_MS};
use super::conversation::AcpPrompt;
use super::turns::failed_with;
use super::{Acp, Phase};
use crate::kit::{PendingCall, Scribe};

impl Acp {
    pub(super) fn tell(&mut self, session: SessionId, command: AgentCommand, scribe: &mut Scribe<'_>) {
        let native = self.natives.get(&session).cloned();
        let Some((native, conversation)) = native.and_then(|native| {
            self.conversations.get_mut(&native).map(|conversation| (native, conversation))
        }) else {
            if let AgentCommand::Prompt { turn, .. } = command {
                let text = "The agent has not opened the session yet.";
                let end = failed_with(TurnErrorCode::AgentUnavailable, text);
                scribe.say(session, Draft::new(Body::TurnFinished(end)).turn(turn).text(text));
            }
            return;
        };
        match command {
            // The protocol cannot add a prompt to a running turn. The session never tries.
            AgentCommand::Prompt { turn, text, attachments, .. }
            | AgentCommand::Steer { turn, text, attachments, .. } => {
                if conversation.turn.is_some() {
                    // One turn at a time. With two, some agents stop the first turn, and some never answer
                    // the second.
                    let text = "The agent is busy with another turn.";
                    let end = failed_with(TurnErrorCode::Other, text);
                    scribe.say(session, Draft::new(Body::TurnFinished(end)).turn(turn).text(text));
                } else {
                    self.prompt(&native, turn, AcpPrompt { text, attachments }, scribe);
                }
            }
            AgentCommand::Interrupt { turn } => self.interrupt(&native, session, turn, scribe),
            AgentCommand::Decide { approval, decision } => self.decide(approval, &decision, scribe),
            AgentCommand::Answer { question, answer } => self.answer(question, &answer, scribe),
            AgentCommand::SetMode(mode) => self.settle_mode(&native, mode, scribe),
            AgentCommand::SetModel(model) => self.settle_model(&native, model, scribe),
            AgentCommand::Rename(title) => {
                // The protocol has no message for a title.
                conversation.title = Some(title);
                conversation.renamed = true;
            }
            AgentCommand::SetEffort(effort) => self.settle_effort(&native, effort, scribe),
            AgentCommand::Archive(_) => {}
            // The agent does not delegate through the hub.
            AgentCommand::Child { .. } => {}
        }
    }

    /// Handles a tick.
    pub(super) fn tick(&mut self, scribe: &mut Scribe<'_>) {
        while let Some(late) = self.calls.overdue(scribe.cx.now) {
            self.was_late(late, scribe);
        }
        self.hold_no_longer(scribe);
        self.hear_timely(scribe);
    }

    /// Handles a request whose deadline has passed.
    fn was_late(&mut self, late: PendingCall<AcpCall>, scribe: &mut Scribe<'_>) {
        if let Phase::Refused(_) = self.phase {
            return;
        }
        let seconds = ANSWER_WITHIN_MS / 1_000;
        let text = format!("{} did not answer {} within {seconds} s.", self.title(), late.method);
        match late.call {
            AcpCall::Greet => self.refuse(FaultCode::Timeout, text, scribe),
            AcpCall::Open { launch, .. } | AcpCall::Login { launch, .. } => {
                self.not_opened(launch.session, FaultCode::Timeout, text, scribe);
            }
            AcpCall::Resume { launch, native, .. } => {
                self.conversations.remove(&native);
                self.natives.remove(&launch.session);
                self.not_opened(launch.session, FaultCode::Timeout, text, scribe);
            }
            AcpCall::Prompt { native } => {
                // Only a stopped turn has a deadline. The anchor ends an agent that does not stop.
                self.finish(&native, TurnEnd::of(TurnOutcome::Interrupted), scribe);
                let seconds = CANCEL_WITHIN_MS / 1_000;
                scribe.out.finished = Some(format!("{} did not stop within {seconds} s", self.title()));
            }
            AcpCall::Past { native } => self.past_told(&native, scribe),
            AcpCall::Set { native, what, .. } => self.was_set(&native, what, Err(text), scribe),
            AcpCall::Models { query } | AcpCall::Sessions { query } => {
                scribe.out.answers.push((query, Err(text)));
                self.finish_if_idle(scribe);
            }
        }
    }
}
