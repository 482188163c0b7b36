//! The limits on open approvals and questions. A person cannot answer thousands of them nor read megabytes,
//! and the hub holds, lists and sends each one.

// The match names only events that end an approval or a question.
#![allow(clippy::wildcard_enum_match_arm)]

use uuid::Uuid;

use super::{Effect, Outcome, Session, brief};
use crate::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer};
use crate::command::{AgentCommand, Refusal};
use crate::event::{BY_HUB, Body, Draft, Event, NoticeLevel};
use crate::id::Context;

/// The most open approvals and questions of one session together. The session refuses further ones.
pub const ASKS_LIMIT: usize = 100;
/// The most bytes of all open approvals and questions together. The session refuses a request that would
/// exceed the limit.
pub const ASKS_BYTES: usize = 16 << 20;

impl Refusal {
    /// If this event ended an approval or a question: its id, and the refusal for clients that answer it
    /// afterwards.
    pub fn of_ended(end: &Event) -> Option<(Uuid, Refusal)> {
        let expired = || Refusal::Expired(end.text().to_owned());
        match &end.body {
            Body::ApprovalDecided { approval, decision } => {
                Some((approval.0, Refusal::AlreadyDecided(decision.clone())))
            }
            Body::QuestionAnswered { question, answer } => {
                Some((question.0, Refusal::AlreadyAnswered(answer.clone())))
            }
            Body::ApprovalExpired { approval } => Some((approval.0, expired())),
            Body::QuestionExpired { question } => Some((question.0, expired())),
            // No other event ends an approval or a question.
            _ => None,
        }
    }
}

impl Session {
    /// Refuses a request over the limit: the agent gets a no, and the log keeps its line. Returns none if the
    /// draft is within the limit.
    pub(super) fn refuse_surplus(
        &mut self,
        draft: &Draft,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Option<Draft> {
        let wanted = brief::bytes_of_ask(draft)?;
        let bytes: usize = self.approvals.values().map(|ask| ask.bytes).sum::<usize>()
            + self.questions.values().map(|ask| ask.bytes).sum::<usize>();
        let why = if self.approvals.len() + self.questions.len() >= ASKS_LIMIT {
            format!("{ASKS_LIMIT} approvals and questions wait already; ask again when some are answered")
        } else if wanted > ASKS_BYTES {
            format!("it has more than {} MiB; ask for less at once", ASKS_BYTES >> 20)
        } else if bytes + wanted > ASKS_BYTES {
            let most = ASKS_BYTES >> 20;
            format!("what waits would have more than {most} MiB; ask again when some of it is answered")
        } else {
            self.refusing = false;
            return None;
        };
        let (kind, tell) = if let Body::ApprovalRequested(request) = &draft.body {
            let decision = ApprovalDecision {
                decision: Decision::Deny,
                message: Some(why.clone()),
                input: None,
                by: BY_HUB.to_owned(),
            };
            ("refused:approval", AgentCommand::Decide { approval: request.approval, decision })
        } else if let Body::QuestionAsked(request) = &draft.body {
            let answer = QuestionAnswer {
                action: AnswerAction::Decline,
                answers: Default::default(),
                by: BY_HUB.to_owned(),
            };
            ("refused:question", AgentCommand::Answer { question: request.question, answer })
        } else {
            return None;
        };
        out.effects.push(Effect::Tell(tell));
        if !self.refusing {
            self.refusing = true;
            let text =
                format!("The agent asks more than anybody can answer, and further asks are refused: {why}.");
            let notice = Body::Notice { level: NoticeLevel::Warning };
            self.record(Draft::new(notice).turn(draft.turn).text(text), cx, out);
        }
        Some(Draft {
            turn: draft.turn,
            item: draft.item,
            text: None,
            body: Body::Raw { kind: kind.to_owned(), fault: None },
            raw: draft.raw.clone(),
        })
    }
}
