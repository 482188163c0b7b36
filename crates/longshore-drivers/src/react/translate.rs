//! The driver: hardly more than a pipe, since both ends speak the words of the waist.

use longshore_model::anchor::{Answer, Query};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft, Raw, RawFault};
use longshore_model::id::{Context, SessionId};
use longshore_model::time::Timestamp;
use serde_json::Value;

use super::wire::{AgentLine, Delegate, Models, ToAgent};

/// The driver of the built-in agent, and of every agent that speaks its wire. One process is one session.
#[derive(Debug, Default)]
pub struct React {
    session: Option<SessionId>,
}

impl React {
    /// A driver that has not heard anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn write(line: &ToAgent, out: &mut Output) {
        match line.to_line() {
            Ok(line) => out.lines.push(line),
            Err(error) => out.finished = Some(format!("the agent cannot be told something: {error}")),
        }
    }

    fn line(&mut self, raw: Raw, out: &mut Output) {
        let AgentLine { draft, history, delegate, models } = match AgentLine::<Value>::of_line(&raw) {
            Ok(said) => said,
            Err(_) => return self.keep("malformed", Some(RawFault::Malformed), raw, out),
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
            (Some(draft), Some(session)) => out.say(session, draft.raw(raw)),
            _ => self.keep(kind, None, raw, out),
        }
        if let (Some(Delegate { call, wish }), Some(session)) = (delegate, self.session) {
            out.delegates.push((session, call, wish));
        }
        if let Some(Models { id, models, error }) = models {
            out.answers.push((id, error.map_or(Ok(Answer::Models { models }), Err)));
        }
    }

    /// A line that says nothing to the timeline.
    fn keep(&self, kind: &str, fault: Option<RawFault>, raw: Raw, out: &mut Output) {
        if let Some(session) = self.session {
            out.say(session, Draft::new(Body::Raw { kind: kind.to_owned(), fault }).raw(raw));
        }
    }
}

impl Driver for React {
    fn handle(&mut self, input: Input, _cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => {
                self.session = Some(launch.session);
                Self::write(&ToAgent::Open(Box::new(launch)), out);
            }
            Input::Ask { id, query: Query::Models { .. } } => Self::write(&ToAgent::Models(id), out),
            Input::Ask {
                id,
                query:
                    Query::Agents { .. }
                    | Query::Git { .. }
                    | Query::Sessions { .. }
                    | Query::Messages { .. }
                    | Query::WorkTree { .. }
                    | Query::Folders { .. }
                    | Query::Past
                    | Query::RecordSize { .. },
            } => {
                out.answers.push((id, Err("this agent cannot be asked that".to_owned())));
            }
            Input::Line(raw) => self.line(raw, out),
            Input::Garbled { text, fault } => self.keep("garbled", Some(fault), text, out),
            Input::Tell { command, .. } => Self::write(&ToAgent::Tell(command), out),
            // Its session is all that its process is for, and it wants nothing done by others.
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

/// Whether this is an agent's to say. What people do, and what becomes of sessions, is the hub's.
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
