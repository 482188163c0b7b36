//! What a session tells its agent, and what became of requests that nobody answered in time.

use longshore_model::command::AgentCommand;
use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Context, SessionId};
use longshore_model::lifecycle::{FaultCode, TurnEnd, TurnErrorCode, TurnOutcome};

use super::calls::{ANSWER_WITHIN_MS, AcpCall, CANCEL_WITHIN_MS, PendingAcpCall};
use super::conversation::AcpPrompt;
use super::turns::failed_with;
use super::{Acp, Phase};

impl Acp {
    pub(super) fn tell(
        &mut self,
        session: SessionId,
        command: AgentCommand,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let native = self.natives.get(&session).cloned();
        let Some((native, conversation)) = native.and_then(|native| {
            self.conversations.get_mut(&native).map(|conversation| (native, conversation))
        }) else {
            if let AgentCommand::Prompt { turn, .. } = command {
                let text = "The agent has not opened the session yet.";
                let end = failed_with(TurnErrorCode::AgentUnavailable, text);
                out.say(session, Draft::new(Body::TurnFinished(end)).turn(turn).text(text));
            }
            return;
        };
        match command {
            // It knows no way to say something into a turn that runs; the session never tries.
            AgentCommand::Prompt { turn, text, attachments, .. }
            | AgentCommand::Steer { turn, text, attachments, .. } => {
                if conversation.turn.is_some() {
                    // One at a time: with two, some agents stop the first and some never answer the second.
                    let text = "The agent is busy with another turn.";
                    let end = failed_with(TurnErrorCode::Other, text);
                    out.say(session, Draft::new(Body::TurnFinished(end)).turn(turn).text(text));
                } else {
                    self.prompt(&native, turn, AcpPrompt { text, attachments }, cx, out);
                }
            }
            AgentCommand::Interrupt { turn } => self.interrupt(&native, session, turn, cx, out),
            AgentCommand::Decide { approval, decision } => self.decide(approval, &decision, cx, out),
            AgentCommand::Answer { question, answer } => self.answer(question, &answer, out),
            AgentCommand::SetMode(mode) => self.settle_mode(&native, mode, cx, out),
            AgentCommand::SetModel(model) => self.settle_model(&native, model, cx, out),
            AgentCommand::Rename(title) => {
                // The protocol has no word for it.
                conversation.title = Some(title);
                conversation.renamed = true;
            }
            AgentCommand::SetEffort(effort) => self.settle_effort(&native, effort, cx, out),
            AgentCommand::Archive(_) => {}
            // It delegates nothing through us.
            AgentCommand::Child { .. } => {}
        }
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, cx: &mut Context<'_>, out: &mut Output) {
        while let Some(late) = self.calls.overdue(cx.now) {
            self.was_late(late, cx, out);
        }
        self.hold_no_longer(cx.now, out);
        self.hear_timely(cx, out);
    }

    /// A request was not answered in time.
    fn was_late(&mut self, late: PendingAcpCall, cx: &mut Context<'_>, out: &mut Output) {
        if let Phase::Refused(_) = self.phase {
            return;
        }
        let seconds = ANSWER_WITHIN_MS / 1_000;
        let text = format!("{} did not answer {} within {seconds} s.", self.title(), late.method);
        match late.call {
            AcpCall::Greet => self.refuse(FaultCode::Timeout, text, out),
            AcpCall::Open { launch, .. } | AcpCall::Login { launch, .. } => {
                self.not_opened(launch.session, FaultCode::Timeout, text, out);
            }
            AcpCall::Resume { launch, native, .. } => {
                self.conversations.remove(&native);
                self.natives.remove(&launch.session);
                self.not_opened(launch.session, FaultCode::Timeout, text, out);
            }
            AcpCall::Prompt { native } => {
                // Only a turn that was stopped is waited for with a clock. An agent that does not stop is stopped.
                self.finish(&native, TurnEnd::of(TurnOutcome::Interrupted), out);
                let seconds = CANCEL_WITHIN_MS / 1_000;
                out.finished = Some(format!("{} did not stop within {seconds} s", self.title()));
            }
            AcpCall::Past { native } => self.past_told(&native, cx, out),
            AcpCall::Set { native, what, .. } => self.was_set(&native, what, Err(text), cx, out),
            AcpCall::Models { query } | AcpCall::Sessions { query } => {
                out.answers.push((query, Err(text)));
                self.finish_if_idle(out);
            }
        }
    }
}
