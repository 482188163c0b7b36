//! What the agent says: taken down as it comes, with the little order that every agent needs.

use super::{Link, Outcome, Session};
use crate::event::{Body, Draft};
use crate::id::Context;
use crate::item::{ToolCall, ToolKind};
use crate::lifecycle::TurnOutcome;

impl Session {
    pub(super) fn said(&mut self, mut draft: Draft, cx: &mut Context<'_>, out: &mut Outcome) {
        if self.closed {
            // The session is over, the agent just has not heard yet. Its words are kept, and change nothing.
            draft = kept_raw(draft);
        }
        match &mut draft.body {
            Body::MessageDelta => self.begin_first(&draft, Body::MessageStarted, cx, out),
            Body::ReasoningDelta => self.begin_first(&draft, Body::ReasoningStarted, cx, out),
            Body::PlanDelta => self.begin_first(&draft, Body::PlanStarted, cx, out),
            Body::ToolOutputDelta => {
                let call = ToolCall {
                    name: "tool".to_owned(),
                    kind: ToolKind::Other,
                    command: None,
                    cwd: None,
                    input: serde_json::Value::Null,
                };
                self.begin_first(&draft, Body::ToolStarted(call), cx, out);
            }
            Body::TurnStarted { .. } => {
                // An agent that begins a turn while another runs has ended that one without saying so.
                if let Some(running) = self.turn.filter(|running| Some(running.id) != draft.turn) {
                    self.finish_unsaid(running.id, TurnOutcome::Completed, None, cx, out);
                }
            }
            Body::TurnFinished(end) => {
                if self.turn.map(|turn| turn.id) != draft.turn {
                    draft = kept_raw(draft);
                } else {
                    if let Some(turn) = self.turn {
                        end.duration_ms.get_or_insert(cx.now.millis_since(turn.started));
                    }
                    self.close_turn(draft.turn, end.outcome, cx, out);
                    self.record(draft, cx, out);
                    out.effects.push(super::Effect::LookAtGit);
                    self.pump(cx, out);
                    return;
                }
            }
            Body::SessionReady(_) => {
                let (revived, from_log) = (self.woken, self.forgotten);
                self.record(draft, cx, out);
                if revived {
                    self.record(Draft::new(Body::SessionRevived { from_log }), cx, out);
                }
                if self.git.is_none() {
                    out.effects.push(super::Effect::LookAtGit);
                }
                self.pump(cx, out);
                return;
            }
            Body::ApprovalExpired { approval } if !self.approvals.contains_key(approval) => {
                draft = kept_raw(draft);
            }
            Body::QuestionExpired { question } if !self.questions.contains_key(question) => {
                draft = kept_raw(draft);
            }
            Body::SessionSleeping(_) => self.link = Link::Asleep,
            Body::UserMessage { .. }
            | Body::MessageStarted
            | Body::MessageDone { .. }
            | Body::ReasoningStarted
            | Body::ReasoningDone { .. }
            | Body::PlanStarted
            | Body::PlanUpdated { .. }
            | Body::ToolStarted(_)
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
            | Body::SessionOpened(_)
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
            | Body::Raw { .. } => {}
        }
        self.record(draft, cx, out);
    }

    /// Every item begins with a beginning, so that a log without its deltas still has every item in its place.
    fn begin_first(&mut self, delta: &Draft, body: Body, cx: &mut Context<'_>, out: &mut Outcome) {
        if let Some(item) = delta.item.filter(|item| !self.has_begun(*item)) {
            self.record(Draft::new(body).turn(delta.turn).item(item), cx, out);
        }
    }
}

/// A draft that came too late to mean anything: its frame is kept all the same.
fn kept_raw(draft: Draft) -> Draft {
    let kind = format!("late:{:?}", draft.body.category()).to_lowercase();
    Draft { body: Body::Raw { kind, fault: None }, ..draft }
}
