//! The driver of the built-in agent. It does little more than pass lines on, because both ends use the types
//! of the model.

use longshore_model::anchor::{AgentQuestion, Answer};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Raw, RawFault};
use longshore_model::id::{Context, SessionId};
use longshore_model::time::Timestamp;
use serde_json::Value;

use super::wire::{AgentLine, Delegate, Models, ToAgent};
use crate::kit::Scribe;

/// The driver of the built-in agent, and of every agent with the same wire. One process is one session.
#[derive(Debug, Default)]
pub struct React {
    session: Option<SessionId>,
}

impl React {
    /// A driver for a new process.
    pub fn new() -> Self {
        Self::default()
    }

    fn write(line: &ToAgent, out: &mut Output) {
        match line.to_line() {
            Ok(line) => out.lines.push(line),
            Err(error) => out.finished = Some(format!("the agent cannot be told something: {error}")),
        }
    }

    fn line(&mut self, line: &Raw, scribe: &mut Scribe<'_>) {
        let AgentLine { draft, history, delegate, models } = match AgentLine::<Value>::of_line(line) {
            Ok(said) => said,
            Err(_) => return scribe.keep(self.session, None, "malformed", Some(RawFault::Malformed)),
        };
        let kind = match (&draft, &history, &delegate, &models) {
            (Some(_), ..) => "unfit",
            (_, Some(_), ..) => "history",
            (_, _, Some(_), _) => "delegate",
            (_, _, _, Some(_)) => "models",
            (None, None, None, None) => "unknown",
        };
        let fits = draft.filter(|draft| may_say(&draft.body));
        match (fits, self.session) {
            (Some(draft), Some(session)) => scribe.quote(session, draft),
            _ => scribe.keep(self.session, None, kind, None),
        }
        if let (Some(Delegate { call, request }), Some(session)) = (delegate, self.session) {
            scribe.out.delegates.push((session, call, request));
        }
        if let Some(Models { id, models, error }) = models {
            scribe.out.answers.push((id, error.map_or(Ok(Answer::Models(models)), Err)));
        }
    }
}

impl Driver for React {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => {
                self.session = Some(launch.session);
                Self::write(&ToAgent::Open(Box::new(launch)), out);
            }
            Input::Ask { id, query: AgentQuestion::Models(_) } => Self::write(&ToAgent::Models(id), out),
            Input::Ask { id, query: AgentQuestion::Sessions(_) | AgentQuestion::Messages(_) } => {
                out.answers.push((id, Err("this agent cannot be asked that".to_owned())));
            }
            Input::Line(raw) => self.line(&raw, &mut Scribe::hearing(&raw, cx, out)),
            Input::Garbled { text, fault } => {
                Scribe::hearing(&text, cx, out).keep(self.session, None, "garbled", Some(fault));
            }
            Input::Tell { command, .. } => Self::write(&ToAgent::Tell(command), out),
            // The process has only this session, and requests no files or commands of the hub.
            Input::Close { .. }
            | Input::Ended { .. }
            | Input::Http(_)
            | Input::WorkDone { .. }
            | Input::Tick => {}
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }
}

/// Whether an agent may emit this event. The hub itself emits the actions of people and the changes of
/// sessions.
fn may_say(body: &Body) -> bool {
    match body {
        Body::MessageStarted
        | Body::MessageDelta
        | Body::MessageDone { .. }
        | Body::ReasoningStarted
        | Body::ReasoningDelta
        | Body::ReasoningDone { .. }
        | Body::PlanStarted
        | Body::PlanDelta
        | Body::PlanUpdated { .. }
        | Body::ToolStarted(_)
        | Body::ToolOutputDelta
        | Body::ToolUpdated(_)
        | Body::ToolFinished(_)
        | Body::FileDiff(_)
        | Body::TurnDiff
        | Body::ApprovalRequested(_)
        | Body::ApprovalExpired { .. }
        | Body::QuestionAsked(_)
        | Body::QuestionExpired { .. }
        | Body::DelegationStarted(_)
        | Body::DelegationFinished(_)
        | Body::TurnStarted { .. }
        | Body::TurnFinished(_)
        | Body::SessionReady(_)
        | Body::SessionError(_)
        | Body::Notice { .. }
        | Body::TitleChanged
        | Body::ModelChanged { .. }
        | Body::EffortChanged { .. }
        | Body::CommandsListed { .. }
        | Body::UsageUpdated(_)
        | Body::UsageLimited(_)
        | Body::Raw { .. } => true,
        Body::UserMessage { .. }
        | Body::ApprovalDecided { .. }
        | Body::QuestionAnswered { .. }
        | Body::ModeChanged { .. }
        | Body::SessionOpened(_)
        | Body::SessionSleeping(_)
        | Body::SessionRevived { .. }
        | Body::SessionHandedOff
        | Body::SessionClosed
        | Body::PromptQueued { .. }
        | Body::PromptCancelled { .. }
        | Body::PromptEdited { .. }
        | Body::QueueReordered { .. }
        | Body::QueueHeld
        | Body::QueueSent { .. }
        | Body::DelegationWaiting { .. }
        | Body::GitChanged(_)
        | Body::Imported { .. }
        | Body::ArchiveChanged { .. } => false,
    }
}
