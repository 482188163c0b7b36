//! What a fork takes over from its origin: what was said and done, not what its agent's process went through.

use longshore_log::{Log, WithRaw};
use longshore_model::event::{Body, Draft, Growth};
use longshore_model::id::{Seq, SessionId};

use crate::error::HubError;

const PAGE: usize = 4_096;

pub(crate) async fn copied(log: &dyn Log, origin: SessionId, until: Seq) -> Result<Vec<Draft>, HubError> {
    let mut copied = Vec::new();
    let mut cursor = Seq::ZERO;
    loop {
        let page = log.read(origin, cursor, PAGE, WithRaw::No).await?;
        let Some(last) = page.last() else { return Ok(copied) };
        cursor = last.seq();
        for frame in page.iter().take_while(|frame| frame.seq() <= until) {
            let event = frame.event().map_err(|source| HubError::Unreadable { seq: frame.seq(), source })?;
            if event.body.growth() != Growth::Delta && is_history(&event.body) {
                copied.push(Draft {
                    turn: event.turn,
                    item: event.item,
                    text: event.text.clone(),
                    body: event.body.clone(),
                    raw: None,
                });
            }
        }
        if cursor >= until {
            return Ok(copied);
        }
    }
}

fn is_history(body: &Body) -> bool {
    match body {
        Body::UserMessage { .. }
        | Body::MessageStarted
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
        | Body::ApprovalDecided { .. }
        | Body::ApprovalExpired { .. }
        | Body::QuestionAsked(_)
        | Body::QuestionAnswered { .. }
        | Body::QuestionExpired { .. }
        | Body::DelegationStarted(_)
        | Body::DelegationFinished(_)
        | Body::TurnStarted { .. }
        | Body::TurnFinished(_) => true,
        Body::SessionOpened(_)
        | Body::SessionReady(_)
        | Body::SessionSleeping(_)
        | Body::SessionRevived { .. }
        | Body::SessionHandedOff
        | Body::SessionClosed
        | Body::SessionError(_)
        | Body::Notice { .. }
        | Body::PromptQueued { .. }
        | Body::PromptCancelled { .. }
        | Body::PromptEdited { .. }
        | Body::QueueReordered { .. }
        | Body::TitleChanged
        | Body::ModelChanged { .. }
        | Body::ModeChanged { .. }
        | Body::GitChanged(_)
        | Body::CommandsListed { .. }
        | Body::UsageUpdated(_)
        | Body::UsageLimited(_)
        | Body::ArchiveChanged { .. }
        | Body::Raw { .. } => false,
    }
}
